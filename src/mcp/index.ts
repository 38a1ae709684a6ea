/** What was taken out of conversations, for any client of the Model Context Protocol. */
export { startMcpHttp, type HttpMcp, type McpHttpOptions } from './http.ts'
export type { McpScope } from './scope.ts'
export { serveMcpStdio } from './server.ts'
