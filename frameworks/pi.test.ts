import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createAgentSession,
  DefaultResourceLoader,
  defineTool,
  SessionManager,
  SettingsManager,
  type ExtensionAPI,
} from '@earendil-works/pi-coding-agent'
import { Type } from '@earendil-works/pi-ai'
import { describe, expect, it } from 'vitest'
import { plimsollExtension } from '../src/surfaces/adapters/pi.ts'
import {
  ANSWER,
  expectFinished,
  expectWhole,
  logOf,
  MAX_OUTPUT,
  startStage,
  TASK,
  WINDOW,
} from '../test/adapters/scenario.ts'

const APIS = [
  ['openai-completions', 'openai-chat', '/v1'],
  ['openai-responses', 'openai-responses', '/v1'],
  ['anthropic-messages', 'anthropic-messages', ''],
] as const

describe.each(APIS)('a session of pi on %s with the extension', (api, wire, path) => {
  it('runs sixty tool steps in a 16k window', async () => {
    const stage = await startStage(wire)
    const cwd = mkdtempSync(join(tmpdir(), 'plimsoll-pi-'))
    const settingsManager = SettingsManager.inMemory({})
    const model = {
      id: 'gpt-4.1',
      name: 'Refereed',
      api,
      provider: 'refereed',
      baseUrl: stage.url + path,
      reasoning: false,
      input: ['text' as const],
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      // pi would lower the answer's length by its own count of the raw history.
      contextWindow: 1_000_000,
      maxTokens: MAX_OUTPUT,
    }
    const { id, name, reasoning, input, cost, contextWindow, maxTokens } = model
    const provide = (pi: ExtensionAPI): void =>
      pi.registerProvider('refereed', {
        baseUrl: model.baseUrl,
        apiKey: 'k',
        api,
        models: [{ id, name, reasoning, input, cost, contextWindow, maxTokens }],
      })
    const resourceLoader = new DefaultResourceLoader({
      cwd,
      agentDir: cwd,
      settingsManager,
      noSkills: true,
      noContextFiles: true,
      extensionFactories: [provide, plimsollExtension(stage.plimsoll, { window: WINDOW })],
    })
    await resourceLoader.reload()
    const { session } = await createAgentSession({
      cwd,
      agentDir: cwd,
      model,
      resourceLoader,
      settingsManager,
      sessionManager: SessionManager.inMemory(cwd),
      noTools: 'builtin',
      customTools: [
        defineTool({
          name: 'read_log',
          label: 'Log',
          description: 'Reads a log.',
          parameters: Type.Object({ step: Type.Number() }),
          execute: async (_, { step }) => ({ content: [{ type: 'text', text: logOf(step) }], details: {} }),
        }),
      ],
    })
    await session.prompt(TASK)
    const history = JSON.stringify(session.messages)
    expect(history).toContain(ANSWER)
    expectWhole([history.replaceAll('\\n', '\n')])
    await expectFinished(stage, session.sessionId)
    session.dispose()
    await stage.close()
    rmSync(cwd, { recursive: true, force: true })
  })
})
