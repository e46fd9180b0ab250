// Starts Swagger UI on the page of the reference. A file of its own, as the page's policy allows no script inside it.
// No validator: it would send the document to another host.
SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#reference',
  validatorUrl: null,
  deepLinking: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
});
