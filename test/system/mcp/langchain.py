"""Drives the tools of a server's /mcp through LangChain's adapter; prints one JSON object for each finding.

Arguments: the server's address.
"""
import asyncio
import json
import sys

from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_mcp_adapters.client import MultiServerMCPClient

ADDRESS = sys.argv[1]


def tell(name, value):
    print(json.dumps({"name": name, "value": value}))


def text_of(blocks):
    return "".join(block["text"] for block in blocks)


async def main():
    client = MultiServerMCPClient({"sheaf": {"url": f"{ADDRESS}/mcp", "transport": "streamable_http"}})
    tools = {tool.name: tool for tool in await client.get_tools()}
    # The schema as a model receives it: this resolves every reference and drops nothing.
    tell("tools", {name: convert_to_openai_tool(tool)["function"]["parameters"] for name, tool in tools.items()})

    async def call(name, **arguments):
        tell(name, text_of(await tools[name].ainvoke(arguments)))

    await call("ingest", collection="sea", docid="nemo", text="Captain Nemo.", metadata={"lang": "en"})
    await call("search", collection="sea", query="nemo", filters={"lang": "en"})
    await call("read_chunk", collection="sea", chunk_id="nemo::chunk_0")
    await call("list_collections")
    await call("search", collection="see", query="nemo")


asyncio.run(main())
