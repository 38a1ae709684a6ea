import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { KNOWN_PACKAGES } from '../src/adapters/known-packages.ts'
import { checkSnippets } from '../test/docs/snippets.ts'

/** What a project that uses the package has before it adds the lines. */
const PROJECTS: Readonly<Record<string, string>> = {
  ai: "import { createOpenAI } from '@ai-sdk/openai'",
  langchain: `import { createAgent } from 'langchain'
declare const model: import('@langchain/core/language_models/chat_models').BaseChatModel
declare const tools: import('@langchain/core/tools').StructuredTool[]`,
  '@openai/agents': `import { MemorySession, OpenAIProvider, Runner } from '@openai/agents'
const session = new MemorySession()`,
  '@mastra/core': `import { Agent, type AgentConfig } from '@mastra/core/agent'
declare const model: AgentConfig['model']
const [id, name, instructions] = ['on-call', 'On-call', 'Work with the tools.'] as const`,
  '@strands-agents/sdk': "declare const model: import('@strands-agents/sdk').Model",
  '@google/adk': `import { BasePlugin, InMemorySessionService, LlmAgent, Runner } from '@google/adk'
const [appName, agent, sessionService] = ['app', new LlmAgent({ name: 'main' }), new InMemorySessionService()] as const`,
  '@earendil-works/pi-coding-agent': `declare function load(extension: import('@earendil-works/pi-coding-agent').ExtensionFactory): void
load(plimsollExtension(createPlimsoll()))`,
  '@opencode-ai/plugin': `declare function load(plugin: import('@opencode-ai/plugin').Plugin): void
load(plimsollPlugin(createPlimsoll()))`,
  openai: "import OpenAI from 'openai'",
  '@anthropic-ai/sdk': "import Anthropic from '@anthropic-ai/sdk'",
  '@google/genai': `import { GoogleGenAI } from '@google/genai'
const apiKey = 'none'`,
}

describe('the lines that `plimsoll init` prints', () => {
  it('are known for every package', () => {
    expect(KNOWN_PACKAGES.map((known) => known.package)).toEqual(Object.keys(PROJECTS))
    expect(KNOWN_PACKAGES.filter(({ lines }) => lines.length !== 3)).toEqual([])
  })

  it('compile in a strict project that has the package', () => {
    const snippets = KNOWN_PACKAGES.map(({ package: name, lines }) => ({
      page: `init ${name}`,
      line: 1,
      code: [PROJECTS[name], ...lines].join('\n'),
    }))
    expect(checkSnippets(snippets, join(import.meta.dirname, '.init'))).toEqual([])
  })
})
