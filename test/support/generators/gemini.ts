import { choose, type Script, type ScriptCall, type ScriptStep, type Turn, type UserPart } from './script.ts'

type Json = Record<string, unknown>

/** Renders a script as a generateContent body, in camel or snake case, with signatures, server tools and odd shapes. */
export function geminiBody(script: Script): Json {
  const { style } = script
  const contents: Json[] = []
  for (const turn of script.turns) {
    contents.push({ ...(choose(turn.style, 1, 4) ? {} : { role: 'user' }), parts: turn.user.map(userPart) })
    for (const step of turn.steps) contents.push(...stepContents(step))
    if (turn.answer !== undefined) contents.push({ role: 'model', parts: answerParts(turn, turn.answer) })
  }
  const declarations = script.tools.map((name) => ({ name, description: name, parameters: { type: 'OBJECT' } }))
  const [first] = contents
  const request = {
    ...(script.system.length > 0 && {
      systemInstruction: choose(style, 0, 4)
        ? { parts: { text: script.system[0] } }
        : { role: 'user', parts: script.system.map((text) => ({ text })) },
    }),
    contents: contents.length === 1 && choose(style, 1) ? first : contents,
    ...(declarations.length > 0 && {
      tools: [{ functionDeclarations: declarations }, ...(choose(style, 2) ? [{ googleSearch: {} }] : [])],
    }),
    ...(script.maxTokens !== undefined && {
      generationConfig: {
        temperature: 0.5,
        maxOutputTokens: script.maxTokens,
        thinkingConfig: { thinkingBudget: 512 },
      },
    }),
    ...(choose(style, 3, 3) && { safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }] }),
    ...(choose(style, 4, 3) && { labels: { 2: 'b', 1: 'a' } }),
  }
  const cased = choose(style, 0, 5) ? snake(request) : request
  return choose(style, 1, 6) ? { model: 'gemini-2.5-pro', project: 'p', request: cased } : cased
}

/** Members of arguments and responses belong to the tool, so their case stays. */
const FREE = new Set(['args', 'response', 'labels'])

function snake(value: Json): Json {
  const inner = (key: string, one: unknown): unknown => {
    if (FREE.has(key) || typeof one !== 'object' || one === null) return one
    return Array.isArray(one) ? one.map((each) => inner('', each)) : snake(one as Json)
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [
      key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      inner(key, one),
    ]),
  )
}

const media = (mimeType: string, data: string | undefined): Json =>
  data === undefined ? { fileData: { mimeType, fileUri: 'files/1' } } : { inlineData: { mimeType, data } }

function userPart(part: UserPart): Json {
  switch (part.part) {
    case 'text':
      return { text: part.text }
    case 'image':
      return media('image/png', part.data)
    case 'document':
      return media('application/pdf', part.data)
    case 'audio':
      return { ...media('audio/wav', part.data), videoMetadata: { startOffset: '0s' } }
    case 'unknown':
      return { hologram: { beam: part.value } }
  }
}

function stepContents(step: ScriptStep): Json[] {
  const { style } = step
  const parts: Json[] = []
  if (step.reasoning !== undefined)
    parts.push({ text: step.reasoning, thought: true, ...(choose(style, 0, 3) && { thoughtSignature: 'c2ln' }) })
  if (step.text !== undefined) parts.push({ text: step.text, ...(choose(style, 1, 4) && { thoughtSignature: 'c2ln' }) })
  if (choose(style, 2, 5)) {
    parts.push({ executableCode: { language: 'PYTHON', code: 'print(1)' } })
    parts.push({ codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1\n' } })
  }
  const withIds = choose(style, 3)
  for (const [i, { name, args }] of step.calls.entries()) {
    const functionCall = { ...(withIds && { id: `fc-${i}` }), name, args }
    parts.push({ functionCall, ...(i === 0 && choose(style, 4) && { thoughtSignature: 'c2ln' }) })
  }
  const results = step.calls.map((call, i) => ({
    functionResponse: { ...(withIds && { id: `fc-${i}` }), name: call.name, ...responseOf(call, style) },
  }))
  return [
    { role: 'model', parts },
    { role: choose(style, 1, 3) ? 'function' : 'user', parts: results },
  ]
}

function responseOf({ result, picture, failed }: ScriptCall, style: number): Json {
  const response = failed
    ? { error: result }
    : choose(style, 2)
      ? { output: result }
      : { result, exitCode: 0, nested: { a: [1] } }
  return { response, ...(picture && { parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }] }) }
}

function answerParts({ style }: Turn, answer: string): Json[] {
  if (choose(style, 2, 5)) return [{ text: answer }, { text: '', thoughtSignature: 'ZW5k' }]
  if (choose(style, 2, 4)) return [{ inlineData: { mimeType: 'image/png', data: 'AAAA' }, thoughtSignature: 'aW1n' }]
  return [{ text: answer }]
}
