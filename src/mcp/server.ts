import { standardSchema } from '../compose/api/reader-shapes.ts'
import type { CallToolResult, McpServer, ServerContext } from '@modelcontextprotocol/server'
import { isPlimsollError, PlimsollError } from '../core/errors.ts'
import { packageVersion } from '../util/package-root.ts'
import {
  handoverOf,
  ARTIFACT,
  ARTIFACT_RANGE,
  listArtifacts,
  listSessions,
  readArtifact,
  readSession,
  SESSION,
  type Content,
} from './resources.ts'
import { type Choice, chosenBy, type Reach, PLIMSOLL, reachOf, SCOPE, type McpScope } from './scope.ts'
import { artifactList, readerTools, type McpTool, contextTools } from './tools.ts'
import { recordOf } from '../core/values.ts'
import { checkArguments } from '../settings/check.ts'
import type { Plimsoll } from '../plimsoll.ts'
import { importOptional } from '../drivers/optional-package.ts'

const INSTRUCTIONS =
  'Reads what was removed from a conversation to keep it inside the context window. A text like art_0123456789abcdefghjkmnpqrs is the ' +
  'handle of a stored tool output: open it with artifact_read, search it with artifact_grep. recall searches the whole conversation.'

const toolsOf = (reach: Reach): readonly McpTool[] => [
  artifactList(reach),
  ...readerTools(reach),
  ...contextTools(reach),
]

/** The tool as it is declared before a conversation is chosen; it runs over the one that a call chose. */
const chosenFirst = (tool: McpTool, reach: Reach, choose: Choose): McpTool => ({
  ...tool,
  async run({ session, ...input }, call) {
    await choose(session)
    const own = toolsOf(reach).find(({ name }) => name === tool.name)!
    return own.run(own.check(input), call)
  },
})

type Choose = ReturnType<typeof chosenBy>['choose']

/** A server for one client, limited to its scope, or to the conversation that its calls choose. */
export function mcpServer(sdk: Sdk, reach: Reach, choose?: Choose): McpServer {
  const { McpServer: Server, ResourceTemplate } = sdk
  const server = new Server(
    { name: 'plimsoll', title: 'Plimsoll', version: packageVersion() },
    { instructions: INSTRUCTIONS },
  )
  for (const tool of toolsOf(reach)) register(server, choose === undefined ? tool : chosenFirst(tool, reach, choose))
  const text = { mimeType: 'text/plain' }
  server.registerResource(
    'artifact',
    new ResourceTemplate(ARTIFACT, { list: async () => ({ resources: [...(await listArtifacts(reach))] }) }),
    { ...text, title: 'Stored output', description: 'A stored tool output; of a long one the first 256 KiB.' },
    async (uri, { handle }) => contents(sdk, () => readArtifact(reach, uri.href, { handle: one(handle) })),
  )
  server.registerResource(
    'artifact-range',
    new ResourceTemplate(ARTIFACT_RANGE, { list: undefined }),
    { ...text, title: 'Part of a stored output', description: 'Bytes from start up to end, 256 KiB at most.' },
    async (uri, { handle, start, end }) =>
      contents(sdk, () => readArtifact(reach, uri.href, { handle: one(handle), start: one(start), end: one(end) })),
  )
  server.registerResource(
    'session',
    new ResourceTemplate(SESSION, { list: async () => ({ resources: [...(await listSessions(reach))] }) }),
    { mimeType: 'application/json', title: 'Conversation', description: 'Calls, tokens, cost, compactions and pins.' },
    async (uri, { session }) => contents(sdk, () => readSession(reach, uri.href, decodeURIComponent(one(session)))),
  )
  const fields = {
    focus: { type: 'string', description: 'What the agent should continue with.' },
    ...(reach.session === undefined && { session: { type: 'string', description: 'The conversation.' } }),
    ...(reach.agent === undefined && { agent: { type: 'string', description: 'Which agent of it.' } }),
  }
  server.registerPrompt(
    'handover',
    {
      title: 'Continue a conversation',
      description: 'What the user asked for, what was done and what is left, for an agent that takes over.',
      argsSchema: standardSchema({
        type: 'object',
        properties: fields,
        required: reach.session === undefined ? ['session'] : [],
      }),
    },
    async (input) => ({
      messages: [
        {
          role: 'user',
          content: { type: 'text', text: await asProtocolError(sdk, () => handoverOf(reach, textsIn(input))) },
        },
      ],
    }),
  )
  return server
}

function register(server: McpServer, tool: McpTool): void {
  const { name, title, description, isReadOnly, asksModel = false } = tool
  server.registerTool(
    name,
    {
      title,
      description,
      inputSchema: standardSchema(tool.inputSchema),
      outputSchema: standardSchema(tool.outputSchema),
      annotations: {
        title,
        readOnlyHint: isReadOnly,
        destructiveHint: false,
        idempotentHint: !asksModel,
        openWorldHint: asksModel,
      },
    },
    (input, context) => answer(tool, input, context),
  )
}

/** Errors are returned as results, so that the model can read and correct them. */
const answer = (tool: McpTool, input: unknown, { mcpReq }: ServerContext): Promise<CallToolResult> =>
  withoutForeignErrors(async () => {
    const call = { signal: mcpReq.signal, onProgress: progressOf(mcpReq) }
    const { ok, text, data } = await tool.run(tool.check(input ?? {}), call)
    return { content: [{ type: 'text', text }], structuredContent: { ...data }, isError: ok ? undefined : true }
  })

/** Reports progress to clients that asked for it, and only when it grows: a reader may start over in another way. */
function progressOf({ _meta, notify }: ServerContext['mcpReq']): (share: number) => void {
  const progressToken = _meta?.progressToken
  if (progressToken === undefined) return () => undefined
  let before = -1
  return (share) => {
    const progress = Math.round(share * 1000) / 1000
    if (progress <= before) return
    before = progress
    // A disconnected client is noticed by its signal.
    notify({ method: 'notifications/progress', params: { progressToken, progress, total: 1 } }).catch(() => undefined)
  }
}

/** Passes our own errors on; others could reveal something about this machine. */
async function withoutForeignErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (isPlimsollError(error) || (error as Error).name === 'AbortError') throw error
    throw new PlimsollError('store-unavailable', 'The store cannot be read at the moment. Try again later.', {
      cause: error,
    })
  }
}

/** The same as an error of the protocol. */
async function asProtocolError<T>({ ProtocolError, ProtocolErrorCode }: Sdk, work: () => Promise<T>): Promise<T> {
  try {
    return await withoutForeignErrors(work)
  } catch (error) {
    if (!isPlimsollError(error)) throw error
    const code =
      isPlimsollError(error, 'not-found') || isPlimsollError(error, 'bad-input') ? 'InvalidParams' : 'InternalError'
    throw new ProtocolError(ProtocolErrorCode[code], error.message)
  }
}

const contents = async (sdk: Sdk, read: () => Promise<Content>) => {
  const content = await asProtocolError(sdk, read)
  const { text, blob, ...about } = content
  return { contents: [text === undefined ? { ...about, blob: blob ?? '' } : { ...about, text }] }
}

const one = (value: string | string[] | undefined): string => (Array.isArray(value) ? value.join('/') : (value ?? ''))

const textsIn = (input: unknown) => (recordOf(input) ?? {}) as Record<string, string | undefined>

type Sdk = typeof import('@modelcontextprotocol/server')
type StdioSdk = typeof import('@modelcontextprotocol/server/stdio')

const PACKAGE = '@modelcontextprotocol/server'
const NEEDED_FOR = 'The MCP server'

/** The official SDK is an optional package, loaded when the first server starts. @throws PlimsollError `unsupported` */
export const loadSdk = (): Promise<Sdk> => importOptional(PACKAGE, NEEDED_FOR)

export interface StdioMcp {
  /** Resolves when the client has closed standard input. */
  readonly ended: Promise<void>
  close(): Promise<void>
}

/** Serves one client over standard input and output. Nothing else may write to standard output. */
export async function serveMcpStdio(plimsoll: Plimsoll, scope: McpScope = {}): Promise<StdioMcp> {
  checkArguments([plimsoll, scope], [PLIMSOLL, { name: 'the scope', schema: SCOPE }], 'serveMcpStdio()')
  return overStdio((sdk) => mcpServer(sdk, reachOf(plimsoll, scope)))
}

/** The same over the conversation that the client chooses. */
export function serveChoiceStdio(plimsoll: Plimsoll, choice: Choice): Promise<StdioMcp> {
  const { reach, choose } = chosenBy(plimsoll, choice)
  return overStdio((sdk) => mcpServer(sdk, reach, choose))
}

async function overStdio(serverOf: (sdk: Sdk) => McpServer): Promise<StdioMcp> {
  const [sdk, { serveStdio, StdioServerTransport }] = await Promise.all([
    loadSdk(),
    importOptional<StdioSdk>(`${PACKAGE}/stdio`, NEEDED_FOR),
  ])
  const transport = new StdioServerTransport()
  const ended = new Promise<void>((resolve) => {
    process.stdin.once('end', resolve)
    process.stdin.once('close', resolve)
  })
  const served = serveStdio(() => serverOf(sdk), { transport })
  return { ended, close: () => served.close() }
}
