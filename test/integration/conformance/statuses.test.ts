// Every endpoint of the specification gives every status that the specification lists for it, over a real socket, and
// each answer has the body, the envelope and the headers that it should have. The coverage is printed as a table at the
// end.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ENDPOINTS, Matrix, provoke, setStages, statusesOf } from '../../kit/conformance/statuses.js';
import { replyComplaints } from '../../kit/conformance/check-reply.js';
import { nameOf } from '../../kit/conformance/endpoint.js';

const stages = await setStages();
const matrix = new Matrix(ENDPOINTS);
after(() => console.log(String(matrix)));

for (const endpoint of ENDPOINTS) {
  test(nameOf(endpoint), async (t) => {
    for (const status of statusesOf(endpoint)) {
      await t.test(`gives ${status}`, { skip: endpoint.never?.[status] ?? false }, async () => {
        matrix.note(endpoint, status, 'missed');
        const reply = await provoke(stages, endpoint, status);
        assert.equal(reply.status, status, reply.text.slice(0, 300));
        // A missing route would otherwise pass for a missing resource.
        assert.notEqual(reply.json.code, 'not_found', 'there is no such route');
        const complaints = replyComplaints(reply, endpoint.answer);
        assert.ok(complaints.length === 0, `${complaints.join('\n')}\n${reply.text.slice(0, 1000)}`);
        matrix.note(endpoint, status, 'made');
      });
    }
  });
}
