import { describe, expect, it } from 'vitest'
import { withAnswers, type Entry } from '../../src/formats/wire/chat.ts'

const asked: Entry = { type: 'assistant', text: '', calls: [{ id: 'c1', name: 'deploy', input: {} }] }

describe('A12: a call without a kept result', () => {
  it('is not said to have failed or not to have run when nobody knows', () => {
    const [, placeholder] = withAnswers([asked])
    expect(placeholder).toMatchObject({ type: 'result', callId: 'c1' })
    expect(placeholder?.type === 'result' && placeholder.text).not.toMatch(/not run/i)
  })
})
