import { describe, expect, it } from 'vitest'
import { open, step, words, type ChatMessage } from './chat.ts'

const TARGET = [{ model: 'gpt-4o', window: 128_000 }]
const TASK = 'Task ALPHA: fix the login bug'
const work = (steps: number): ChatMessage[] => [
  { role: 'user', content: TASK },
  ...Array.from({ length: steps }, (_, n) =>
    step(`k${n}`, 'read_file', { path: `src/f${n}.ts` }, words(4_000, n + 1)),
  ).flat(),
]

describe('k7: one user message and 150 tool steps', () => {
  it('says what was done and which files it touched, the newest ones where not all fit', async () => {
    const { messages } = open({ policy: 'adk-code' })
    const { texts } = await messages({ messages: work(150) }, TARGET)
    expect(texts[0]).toBe(TASK)
    const summary = texts[1]!
    expect(summary).toMatch(/\d+ tool calls were made since then: read_file \d+×\./)
    expect(summary).not.toContain('0 user messages')
    expect(summary).toContain('Files touched:')
    // The newest of what was folded; the last ten messages stand in full behind it.
    expect(summary).toContain('src/f144.ts read 1×')
  })

  it('asks the summarizer with the request and what was done for it', async () => {
    const prompts: string[] = []
    const { messages } = open({
      policy: 'adk-code',
      summarizer: async (prompt) => {
        prompts.push(prompt)
        return 'The user wants the login bug fixed; 145 files were read for it.'
      },
    })
    const { texts } = await messages({ messages: work(150) }, TARGET)
    expect(prompts).toHaveLength(1)
    expect(prompts[0]).toContain(TASK)
    expect(prompts[0]).toContain('read_file')
    expect(texts[1]).toContain('The user wants the login bug fixed')
  })

  it('keeps the task and what the user said later in view, however long the history', async () => {
    const { messages } = open({ policy: 'adk-code' })
    const history = work(60)
    history.splice(
      41,
      0,
      { role: 'assistant', content: 'So far so good.' },
      { role: 'user', content: 'Leave the tests alone.' },
    )
    const { texts } = await messages({ messages: history }, [{ model: 'gpt-4o', window: 32_000 }])
    const all = texts.join('\n')
    expect(all).toContain(TASK)
    expect(all).toContain('Leave the tests alone.')
  })
})

describe('the task under a small window', () => {
  it('is not shortened for the sake of the aim, only where the request would not fit', async () => {
    const task = words(6_000, 99)
    const { messages } = open({ policy: 'adk-code' })
    const history = [{ role: 'user', content: task }, ...work(40).slice(1)]
    const { texts } = await messages({ messages: history }, [{ model: 'gpt-4o', window: 32_000 }])
    expect(texts[0]).toBe(task)
  })
})
