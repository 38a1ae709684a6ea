import type { Summarizer, SummaryAnswer } from '../../../src/ports/summarizer.ts'

/** What a model makes of a request for a summary. Only `sound` is one. */
export const HABITS = [
  'sound',
  'empty',
  'refusal',
  'cut',
  'calls a tool',
  'too long',
  'throws',
  'another each time',
] as const
export type Habit = (typeof HABITS)[number]

const SOUND =
  '## State\nThe work goes on.\n## Key information\n- src/part-1.ts\n## Decisions\n- none\n## Next steps\n- go on'

function answerOf(habit: Habit, prompt: string): SummaryAnswer {
  switch (habit) {
    case 'empty':
      return { text: '  \n', stop: 'end' }
    case 'refusal':
      return { text: "I'm sorry, but I can't help with that.", stop: 'refusal' }
    case 'cut':
      return { text: SOUND.slice(0, 30), stop: 'length' }
    case 'calls a tool':
      return { text: SOUND, stop: 'tool-use', toolCalls: 1 }
    case 'too long':
      return { text: `${SOUND}\n${prompt.repeat(3)}`, stop: 'end' }
    case 'throws':
      throw new Error('the summarizer is down')
    default:
      return { text: SOUND, stop: 'end' }
  }
}

export interface ScriptedSummarizer extends Summarizer {
  readonly calls: () => number
}

export function scriptedSummarizer(habit: Habit): ScriptedSummarizer {
  let calls = 0
  return {
    name: 'scripted',
    model: 'scripted-1',
    window: 16_000,
    calls: () => calls,
    async summarise({ prompt }) {
      const own = habit === 'another each time' ? HABITS[calls % (HABITS.length - 1)]! : habit
      calls++
      return answerOf(own, prompt)
    },
  }
}
