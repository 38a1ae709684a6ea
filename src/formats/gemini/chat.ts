import { type Fields, listOf, recordOf, recordsIn } from '../../core/values.ts'
import { runsOf, withAnswers, type ChatWire, type Entry } from '../wire/chat.ts'
import { FORMAT } from './source.ts'

export const chat: ChatWire = {
  body: ({ system, tools, entries, maxOutputTokens }) =>
    JSON.stringify({
      systemInstruction: { parts: [{ text: system }] },
      contents: runsOf(withAnswers(entries)).map((run) => ({
        role: run[0]!.type === 'assistant' ? 'model' : 'user',
        parts: run.flatMap(partsOf),
      })),
      tools: [
        {
          functionDeclarations: tools.map(({ name, description, parameters }) => ({
            name,
            description,
            parametersJsonSchema: parameters,
          })),
        },
      ],
      generationConfig: { maxOutputTokens },
    }),
  keeper() {
    // Thought signatures ride on parts and must come back where they were.
    const parts: object[] = []
    return {
      push: (event) => void parts.push(...partsIn(event).filter((part) => part['thought'] !== true)),
      value: () => parts,
    }
  },
}

const partsIn = (event: Fields): readonly Fields[] =>
  recordsIn(recordOf(recordOf(listOf(event['candidates'])[0])?.['content'])?.['parts'])

function partsOf(entry: Entry): readonly object[] {
  if (entry.type === 'user') return [{ text: entry.text }]
  if (entry.type === 'result') {
    const { callId, name, text, isError } = entry
    return [{ functionResponse: { id: callId, name, response: isError ? { error: text } : { output: text } } }]
  }
  if (entry.raw?.wire === FORMAT && Array.isArray(entry.raw.value)) return entry.raw.value as object[]
  return [
    ...(entry.text === '' ? [] : [{ text: entry.text }]),
    ...entry.calls.map(({ id, name, input }) => ({ functionCall: { id, name, args: input } })),
  ]
}
