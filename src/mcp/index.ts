/** An MCP server for what was taken out of conversations. */
export { startMcpHttp, type HttpMcp, type McpHttpOptions } from './http.ts'
export type { McpScope } from './scope.ts'
export { serveMcpStdio } from './server.ts'
