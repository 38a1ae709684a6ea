import { BasePlugin, FunctionTool, Gemini, InMemorySessionService, LlmAgent, Runner, StreamingMode } from '@google/adk'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { plimsollPlugin } from '../src/surfaces/adapters/google-adk.ts'
import {
  ANSWER,
  expectFinished,
  expectWhole,
  logOf,
  MAX_OUTPUT,
  stageFor,
  STEPS,
  TASK,
  WINDOW,
} from '../test/adapters/scenario.ts'

/** The model of the framework, unchanged but for where its requests go. */
class RefereedGemini extends Gemini {
  readonly #fetch: typeof globalThis.fetch
  constructor(fetch: typeof globalThis.fetch) {
    super({ model: 'gemini-2.5-pro', apiKey: 'k' })
    this.#fetch = fetch
  }
  protected override getHttpOptions() {
    return { ...super.getHttpOptions(), fetch: this.#fetch }
  }
}

describe('an ADK agent with the plugin', () => {
  it.each([StreamingMode.NONE, StreamingMode.SSE])(
    'runs sixty tool steps in a 16k window: %s',
    async (streamingMode) => {
      // See bare.ts: what ADK 2.0 does with a streamed answer of text and two calls.
      const parallel = streamingMode === StreamingMode.NONE
      const stage = stageFor('gemini', { parallel })
      const agent = new LlmAgent({
        name: 'main',
        model: new RefereedGemini(stage.referee.fetch),
        instruction: 'Work with the tools.',
        generateContentConfig: { maxOutputTokens: MAX_OUTPUT },
        tools: [
          new FunctionTool({
            name: 'read_log',
            description: 'Reads a log.',
            parameters: z.object({ step: z.number() }),
            execute: ({ step }) => ({ output: logOf(step) }),
          }),
        ],
      })
      const sessionService = new InMemorySessionService()
      await sessionService.createSession({ appName: 'app', userId: 'me', sessionId: 'run' })
      const plugins = [plimsollPlugin(stage.plimsoll, BasePlugin, { window: WINDOW })]
      const runner = new Runner({ appName: 'app', agent, sessionService, plugins })
      const texts: string[] = []
      const run = runner.runAsync({
        userId: 'me',
        sessionId: 'run',
        newMessage: { role: 'user', parts: [{ text: TASK }] },
        runConfig: { streamingMode, maxLlmCalls: 2 * STEPS },
      })
      for await (const event of run) texts.push(event.content?.parts?.at(-1)?.text ?? event.errorMessage ?? '')
      expect(texts.at(-1)).toBe(ANSWER)
      const stored = await sessionService.getSession({ appName: 'app', userId: 'me', sessionId: 'run' })
      expectWhole([JSON.stringify(stored?.events).replaceAll('\\n', '\n')], { parallel })
      await expectFinished(stage, 'run')
    },
  )
})
