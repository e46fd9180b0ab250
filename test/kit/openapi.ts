// Checks answers and examples against the OpenAPI document: compiles its schemas once and lists what does not fit.
import type { ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

export interface Spec {
  paths: Record<string, Record<string, OperationObject>>;
  components: { schemas: Record<string, object>; examples: Record<string, { value: unknown }> };
}

interface OperationObject {
  operationId: string;
  parameters?: { name: string; in: string; schema: object; example?: unknown }[];
  requestBody?: { required: boolean; content: Record<string, Media> };
  responses: Record<string, { content?: Record<string, Media>; headers: object }>;
  security?: object[];
}

interface Media {
  schema: object;
  examples?: Record<string, { value?: unknown; $ref?: string }>;
}

export interface FoundOperation {
  path: string;
  method: string;
  /** The JSON pointer of the operation in the document. */
  pointer: string;
  operation: OperationObject;
}

export class SpecJudge {
  private readonly ajv: Ajv2020;

  constructor(private readonly spec: Spec) {
    this.ajv = new Ajv2020({ strict: false, allErrors: true });
    addFormats.default(this.ajv);
    this.ajv.addSchema(spec, 'spec');
  }

  operations(): FoundOperation[] {
    return Object.entries(this.spec.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        path,
        method,
        operation,
        pointer: pointerOf('paths', path, method),
      })),
    );
  }

  operation(operationId: string): FoundOperation {
    const found = this.operations().find(({ operation }) => operation.operationId === operationId);
    if (!found) throw new Error(`the document has no operation ${operationId}`);
    return found;
  }

  /** What of `value` does not fit the schema at a place in the document; empty where all of it fits. */
  complaints(pointer: string, value: unknown): string[] {
    const validate = this.ajv.getSchema(`spec${pointer}`) as ValidateFunction;
    return validate(value)
      ? []
      : (validate.errors ?? []).map(
          ({ instancePath, message }) => `${pointer} ${instancePath || 'as a whole'} ${message}`,
        );
  }

  /** What is wrong with an answer: a status, media type or body that the operation does not list. */
  answerComplaints(operationId: string, status: number, contentType: string, body: unknown): string[] {
    const { operation, pointer } = this.operation(operationId);
    const response = operation.responses[status];
    if (!response) return [`${operationId} answers ${status}, which is not listed`];
    const mediaType = contentType.split(';')[0] ?? '';
    if (!response.content) return [];
    if (!response.content[mediaType])
      return [`${operationId} answers ${status} with ${mediaType}, which is not listed`];
    return mediaType === 'application/json'
      ? this.complaints(pointer + pointerOf('responses', String(status), 'content', mediaType, 'schema').slice(1), body)
      : [];
  }
}

/** A JSON pointer as a URI fragment. */
export function pointerOf(...segments: string[]): string {
  return `#/${segments.map((segment) => encodeURIComponent(segment.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`;
}
