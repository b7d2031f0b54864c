# Talks to a model through the adapters, with stand-ins for the frameworks. Arguments: the model,
# the address and the key file's text, then the conversations.
import json
import sys

import ctxledger

sys.path.insert(0, sys.argv[1])
model, url, key, *conversations = sys.argv[2:]
system, description = "You add numbers with the tool.", "Adds two numbers."
schema = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}


def add(args):
    return f"{args['a']} + {args['b']} = {args['a'] + args['b']}"


def langchain(client, name):
    from langchain_core.callbacks import Chat, Message
    from ctxledger.langchain import LedgerHandler
    turn = client.run(session=name, agent="adder").turn("turn-1")
    chat = Chat(model, [{"type": "function", "function": {"name": "add", "description": description, "parameters": schema}}])
    messages = [Message(type="system", content=system), Message(type="human", content=name)]
    while True:
        message = chat.invoke(messages, [LedgerHandler(turn)])
        messages.append(message)
        if not message.tool_calls:
            turn.seal()
            chat.invoke([Message(type="human", content="what is recorded no longer")], [LedgerHandler(turn)])  # does not disturb the agent
            return message.content
        messages += [Message(type="tool", content=add(call["args"]), tool_call_id=call["id"]) for call in message.tool_calls]


def agents(client, name):
    from agents.tracing import run
    from ctxledger.openai_agents import LedgerProcessor
    tools = [{"type": "function", "name": "add", "description": description, "parameters": schema, "strict": False}]
    return run(model, "adder", tools, system, name, lambda arguments: add(json.loads(arguments)), LedgerProcessor(client))


with ctxledger.connect(url=url, key=ctxledger.Key.parse(key), runtime="adapters") as client:
    for name in conversations:
        print(f"{name}: {globals()[name.split()[0]](client, name)}")
for refusal in client.refusals:
    print(refusal)
