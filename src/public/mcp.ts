/** `plimsoll/mcp`: what was taken out of conversations, for any client of the Model Context Protocol. */
export { startMcpHttp, type HttpMcp, type McpHttpOptions } from '../mcp/http.ts'
export { serveMcpStdio } from '../mcp/server.ts'
