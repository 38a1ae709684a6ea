/** A package that people build agents with, and what connects it. */
export interface KnownPackage {
  readonly package: string
  readonly name: string
  /** What to add, as it would be written. */
  readonly lines: readonly string[]
  /** The page about it in the documentation. */
  readonly page: string
  /** Said below the lines. */
  readonly note?: string
}

const withPlimsoll = (line: string, imports?: string): readonly string[] => [
  ["import { createPlimsoll } from 'plimsoll'", ...(imports === undefined ? [] : [imports])].join('; '),
  'const plimsoll = createPlimsoll()',
  line,
]

const page = (name: string): string => `docs/adapters/${name}.md`

/** Frameworks first: who uses one has its SDKs installed as well. */
export const KNOWN_PACKAGES: readonly KnownPackage[] = [
  {
    package: 'ai',
    name: 'Vercel AI SDK',
    lines: withPlimsoll('const openai = createOpenAI({ fetch: plimsoll.fetch }) // any provider that takes a fetch'),
    page: page('ai-sdk'),
    note: 'AI Gateway and Bedrock take no fetch; use the middleware that the page below describes.',
  },
  {
    package: 'langchain',
    name: 'LangChain',
    lines: withPlimsoll(
      'const agent = createAgent({ model, tools, middleware: [plimsollMiddleware(plimsoll)] })',
      "import { plimsollMiddleware } from 'plimsoll/adapters/langchain'",
    ),
    page: page('langchain'),
  },
  {
    package: '@openai/agents',
    name: 'OpenAI Agents SDK',
    lines: withPlimsoll(
      'const runner = new Runner({ modelProvider: plimsollProvider(plimsoll, new OpenAIProvider(), { session }) })',
      "import { plimsollProvider } from 'plimsoll/adapters/openai-agents'",
    ),
    page: page('openai-agents'),
    note: 'session is the one of the run, for instance new MemorySession(). Agents that use only OpenAI models can use plimsoll.fetch instead; see the page below.',
  },
  {
    package: '@mastra/core',
    name: 'Mastra',
    lines: withPlimsoll(
      'const agent = new Agent({ id, name, instructions, model, inputProcessors: [plimsollProcessor(plimsoll)] })',
      "import { plimsollProcessor } from 'plimsoll/adapters/mastra'",
    ),
    page: page('mastra'),
    note: 'Give the memory a large lastMessages: the default of 10 cuts the front of the history at each run.',
  },
  {
    package: '@strands-agents/sdk',
    name: 'Strands',
    lines: withPlimsoll(
      'new strands.Agent({ model, conversationManager: new strands.NullConversationManager(), plugins: [plimsollPlugin(plimsoll, strands)] })',
      "import { plimsollPlugin } from 'plimsoll/adapters/strands'; import * as strands from '@strands-agents/sdk'",
    ),
    page: page('strands'),
  },
  {
    package: '@google/adk',
    name: 'Google ADK',
    lines: withPlimsoll(
      'const runner = new Runner({ appName, agent, sessionService, plugins: [plimsollPlugin(plimsoll, BasePlugin)] })',
      "import { plimsollPlugin } from 'plimsoll/adapters/google-adk'",
    ),
    page: page('google-adk'),
  },
  {
    package: '@earendil-works/pi-coding-agent',
    name: 'pi',
    lines: withPlimsoll(
      'export default plimsollExtension(plimsoll)',
      "import { plimsollExtension } from 'plimsoll/adapters/pi'",
    ),
    page: page('pi'),
  },
  {
    package: '@opencode-ai/plugin',
    name: 'OpenCode',
    lines: withPlimsoll(
      'export const Plimsoll = plimsollPlugin(plimsoll)',
      "import { plimsollPlugin } from 'plimsoll/adapters/opencode'",
    ),
    page: page('opencode'),
  },
  {
    package: 'openai',
    name: 'OpenAI SDK',
    lines: withPlimsoll('const client = new OpenAI({ fetch: plimsoll.fetch })'),
    page: 'docs/recipes/sdks.md',
  },
  {
    package: '@anthropic-ai/sdk',
    name: 'Anthropic SDK',
    lines: withPlimsoll('const client = new Anthropic({ fetch: plimsoll.fetch })'),
    page: 'docs/recipes/sdks.md',
  },
  {
    package: '@google/genai',
    name: 'Google Gen AI SDK',
    lines: withPlimsoll('const client = new GoogleGenAI({ apiKey, httpOptions: { fetch: plimsoll.fetch } })'),
    page: 'docs/recipes/sdks.md',
  },
]
