/** `plimsoll/mcp`: an MCP server for what was taken out of conversations. */
export { startMcpHttp, type HttpMcp, type McpHttpOptions } from '../mcp/http.ts'
export { serveMcpStdio } from '../mcp/server.ts'
