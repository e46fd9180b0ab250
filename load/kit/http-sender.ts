// Requests over connections that are kept, at less processor time each than fetch takes: what a schedule of many
// requests is sent by, with the load generator on the machine that it measures. Used by the load suite.
import { Agent, request } from 'node:http';

export interface SentRequest {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

const ANSWER_WITHIN_MS = 120_000;
/** Beyond so many under way a request waits for a connection, and its latency counts on. */
const CONNECTIONS_MAX = 512;

export class HttpSender {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS_MAX });
  private readonly base: URL;

  constructor(url: string) {
    this.base = new URL(url);
  }

  /** The status; the body is read, and dropped. Rejects where there is no answer. */
  send({ method, path, headers, body = '' }: SentRequest): Promise<number> {
    return new Promise((resolve, reject) => {
      const { hostname, port } = this.base;
      const sent = request(
        {
          hostname,
          port,
          path,
          method,
          agent: this.agent,
          timeout: ANSWER_WITHIN_MS,
          headers: { ...headers, 'content-length': Buffer.byteLength(body) },
        },
        (answer) => {
          answer
            .once('end', () => resolve(answer.statusCode ?? 0))
            .once('error', reject)
            .resume();
        },
      );
      sent.once('error', reject).once('timeout', () => sent.destroy(new Error('no answer in time')));
      sent.end(body);
    });
  }

  close(): void {
    this.agent.destroy();
  }
}
