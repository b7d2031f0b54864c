// Refuses requests to other machines, as those of the OpenAI Agents SDK that export traces.
const fetched = globalThis.fetch;
globalThis.fetch = async (request, options) => {
  const { hostname } = new URL(request.url ?? request);
  if (hostname !== "127.0.0.1") throw new Error(`${hostname} is another machine`);
  return fetched(request, options);
};
