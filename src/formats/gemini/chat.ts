import { runsOf, withAnswers, type Entry } from '../wire/chat.ts'
import { listOf, recordOf, textOf, type ChatWire } from '../../surfaces/cli/chat/wires/wire.ts'

export const geminiWire: ChatWire = {
  format: 'gemini',
  path: (model) => `/v1beta/models/${encodeURIComponent(model)}:streamGenerateContent?alt=sse`,
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
  textIn: (event) =>
    partsIn(event)
      .filter((part) => part['thought'] !== true)
      .map((part) => textOf(part['text']))
      .join(''),
  keeper() {
    // Thought signatures ride on parts and must come back where they were.
    const parts: object[] = []
    return {
      push: (event) => void parts.push(...partsIn(event).filter((part) => part['thought'] !== true)),
      value: () => parts,
    }
  },
}

const partsIn = (event: Readonly<Record<string, unknown>>): readonly Readonly<Record<string, unknown>>[] =>
  listOf(recordOf(recordOf(listOf(event['candidates'])[0])?.['content'])?.['parts']).flatMap((part) => {
    const fields = recordOf(part)
    return fields === undefined ? [] : [fields]
  })

function partsOf(entry: Entry): readonly object[] {
  if (entry.type === 'user') return [{ text: entry.text }]
  if (entry.type === 'result') {
    const { callId, name, text, isError } = entry
    return [{ functionResponse: { id: callId, name, response: isError ? { error: text } : { output: text } } }]
  }
  if (entry.raw?.wire === 'gemini' && Array.isArray(entry.raw.value)) return entry.raw.value as object[]
  return [
    ...(entry.text === '' ? [] : [{ text: entry.text }]),
    ...entry.calls.map(({ id, name, input }) => ({ functionCall: { id, name, args: input } })),
  ]
}
