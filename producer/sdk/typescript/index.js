export { Client, connect } from "./client.js";
export { Key, bucket, messageID, uuidv7 } from "./key.js";
export { Guard } from "./guard.js";
export { Call, Gap, OpenCompaction, Run, Turn } from "./run.js";
