// Submit a job from Node.js and print the receipt: node submit.mjs nats://host:4222 job-name
import { connect } from "@nats-io/transport-node";

const [servers, job] = process.argv.slice(2);
const nats = await connect({ servers });
const spec = { cluster: "local", run: { command: ["python3", "train.py"] } };
const command = { verb: "submit", command: `node-${job}`, tenant: "nlp", job, at: new Date().toISOString(), spec };
await nats.request(`dispatch.command.nlp.ana.submit.${job}`, JSON.stringify(command)); // the answer says: stored
const receipt = `$JS.API.DIRECT.GET.DISPATCH_RECEIPTS.dispatch.receipt.nlp.${command.command}`;
let read = await nats.request(receipt);
while (read.headers?.code === 404) read = await nats.request(receipt); // no supervisor has taken it yet
console.log(read.string());
await nats.drain();
