// Answers the questions of a node, as a node that has nothing else to do, in a process of its own: what the links between
// nodes cost by themselves. Sends where it answers.
import { LinkServer, newKey } from '../../src/cluster/node-links.js';

/** The size of an answer with ten hits. */
const ANSWER = new Uint8Array(2200);

const server = await LinkServer.listen({ listen: '127.0.0.1:0', advertised: '', key: newKey() });
server.on('search', async () => ANSWER);
process.send?.(server.address);
