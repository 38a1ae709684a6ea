import { describe, expect, it } from 'vitest'
import { open, step, words, type ChatMessage } from './chat.ts'

const SMALL = [{ model: 'gpt-4o', window: 16_000 }]

describe('facts that a model’s summary does not have to repeat', () => {
  it.each([
    ['a shell', 'bash', { command: 'make test' }, 'FAIL src/a.ts\nexit code 137', '$ make test (exit 137)'],
    ['JSON of a runner', 'run', { cmd: 'npm ci' }, '{"stdout":"","exit_code": 243}', '$ npm ci (exit 243)'],
    ['camel case', 'run', { cmd: 'npm ci' }, '{"stdout":"","exitCode":7}', '$ npm ci (exit 7)'],
    ['another word for it', 'run', { cmd: 'cargo b' }, 'returncode=101', '$ cargo b (exit 101)'],
    ['a tool that is no shell', 'kubectl', { verb: 'apply' }, 'Process exited with code 3', '$ kubectl apply (exit 3)'],
  ])('%s: the exit code survives in the carried block', async (_, name, args, output, carried) => {
    const { messages } = open({ policy: 'contextguard', summarizer: async () => 'Nothing of note: make it pass.' })
    const history: ChatMessage[] = [
      { role: 'user', content: 'Make it pass.' },
      ...step('c1', name, args, output),
      ...Array.from({ length: 12 }, (_unused, n) =>
        step(`r${n}`, 'read', { path: `f${n}` }, words(4_000, n + 1)),
      ).flat(),
    ]
    const { texts } = await messages({ messages: history }, SMALL)
    const summary = texts.find((text) => text.includes('Nothing of note: make it pass.'))
    expect(summary).toContain(carried)
  })
})

describe('the user’s own words', () => {
  it('stay in view through a compaction of everything', async () => {
    const { messages } = open({ policy: 'contextguard', summarizer: async () => 'A summary.' })
    const history: ChatMessage[] = [
      { role: 'user', content: 'Task ALPHA: move the login to the new service.' },
      ...Array.from({ length: 6 }, (_, n) => step(`a${n}`, 'read', { path: `f${n}` }, words(4_000, n + 1))).flat(),
      { role: 'assistant', content: 'Half way.' },
      { role: 'user', content: 'Leave the tests alone.' },
      ...Array.from({ length: 6 }, (_, n) => step(`b${n}`, 'read', { path: `g${n}` }, words(4_000, n + 50))).flat(),
      { role: 'assistant', content: 'Nearly done.' },
      { role: 'user', content: 'What is next?' },
    ]
    const all = (await messages({ messages: history }, SMALL)).texts.join('\n')
    for (const said of ['Task ALPHA: move the login', 'Leave the tests alone.', 'What is next?'])
      expect(all).toContain(said)
  })
})
