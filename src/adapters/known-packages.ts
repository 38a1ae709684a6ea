/** A package for building agents, and how to connect it. */
export interface KnownPackage {
  readonly package: string
  readonly name: string
  /** Code to add. */
  readonly lines: readonly string[]
  /** The documentation page about it. */
  readonly page: string
  /** Printed below the lines. */
  readonly note?: string
}

interface Connected extends Omit<KnownPackage, 'lines'> {
  /** Code that connects it to an instance named `plimsoll`. */
  readonly line: string
  readonly imports?: string
}

/** Frameworks come first, because their users usually have the SDKs installed too. */
const CONNECTED: readonly Connected[] = [
  {
    package: 'ai',
    name: 'Vercel AI SDK',
    line: 'const openai = createOpenAI({ fetch: plimsoll.fetch }) // any provider that takes a fetch',
    page: 'docs/adapters/ai-sdk.md',
    note: 'AI Gateway takes no fetch; use the middleware that the page below describes.',
  },
  {
    package: 'langchain',
    name: 'LangChain',
    line: 'const agent = createAgent({ model, tools, middleware: [plimsollMiddleware(plimsoll)] })',
    imports: "import { plimsollMiddleware } from 'plimsoll/adapters/langchain'",
    page: 'docs/adapters/langchain.md',
  },
  {
    package: '@openai/agents',
    name: 'OpenAI Agents SDK',
    line: 'const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient: new OpenAI({ fetch: plimsoll.fetch }) }) })',
    imports: "import OpenAI from 'openai'; import { OpenAIProvider, Runner } from '@openai/agents'",
    page: 'docs/adapters/openai-agents.md',
    note: 'For models that take no OpenAI client there is plimsollProvider; see the page below.',
  },
  {
    package: '@mastra/core',
    name: 'Mastra',
    line: 'const agent = new Agent({ id, name, instructions, model, inputProcessors: [plimsollProcessor(plimsoll)] })',
    imports: "import { plimsollProcessor } from 'plimsoll/adapters/mastra'",
    page: 'docs/adapters/mastra.md',
    note: 'Give the memory a large lastMessages: the default of 10 cuts the front of the history at each run.',
  },
  {
    package: '@strands-agents/sdk',
    name: 'Strands',
    line: 'new strands.Agent({ model, conversationManager: new strands.NullConversationManager(), plugins: [plimsollPlugin(plimsoll, strands)] })',
    imports:
      "import { plimsollPlugin } from 'plimsoll/adapters/strands'; import * as strands from '@strands-agents/sdk'",
    page: 'docs/adapters/strands.md',
  },
  {
    package: '@google/adk',
    name: 'Google ADK',
    line: 'const runner = new Runner({ appName, agent, sessionService, plugins: [plimsollPlugin(plimsoll, BasePlugin)] })',
    imports: "import { plimsollModel, plimsollPlugin } from 'plimsoll/adapters/google-adk'",
    page: 'docs/adapters/google-adk.md',
    note: "Wrap the agent's model too: plimsollModel(new Gemini({ model: 'gemini-2.5-pro' })).",
  },
  {
    package: '@earendil-works/pi-coding-agent',
    name: 'pi',
    line: 'export default plimsollExtension(plimsoll, { window: 200_000 })',
    imports: "import { plimsollExtension } from 'plimsoll/adapters/pi'",
    page: 'docs/adapters/pi.md',
  },
  {
    package: '@opencode-ai/plugin',
    name: 'OpenCode',
    line: 'export const Plimsoll = plimsollPlugin(plimsoll)',
    imports: "import { plimsollPlugin } from 'plimsoll/adapters/opencode'",
    page: 'docs/adapters/opencode.md',
    note: "createPlimsoll({ store: 'memory:', window: 200_000 }) keeps nothing on disk, and names the window.",
  },
  {
    package: 'openai',
    name: 'OpenAI SDK',
    line: 'const client = new OpenAI({ fetch: plimsoll.fetch })',
    page: 'docs/recipes/sdks.md',
  },
  {
    package: '@anthropic-ai/sdk',
    name: 'Anthropic SDK',
    line: 'const client = new Anthropic({ fetch: plimsoll.fetch })',
    page: 'docs/recipes/sdks.md',
  },
  {
    package: '@google/genai',
    name: 'Google Gen AI SDK',
    line: 'const client = new GoogleGenAI({ apiKey, httpOptions: { fetch: plimsoll.fetch } })',
    page: 'docs/recipes/sdks.md',
  },
]

export const KNOWN_PACKAGES: readonly KnownPackage[] = CONNECTED.map(({ line, imports, ...known }) => ({
  ...known,
  lines: [
    ["import { createPlimsoll } from 'plimsoll'", imports ?? []].flat().join('; '),
    'const plimsoll = createPlimsoll()',
    line,
  ],
}))
