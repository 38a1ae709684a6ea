import * as fc from 'fast-check'

/** What a conversation says, before a wire says it. Each wire's generator renders the same scripts in its own forms. */
export interface Script {
  readonly system: readonly string[]
  readonly turns: readonly Turn[]
  readonly tools: readonly string[]
  readonly maxTokens: number | undefined
  /** Chooses among the forms that a wire has for the same thing. */
  readonly style: number
}

export interface Turn {
  readonly user: readonly UserPart[]
  readonly steps: readonly ScriptStep[]
  readonly answer: string | undefined
  readonly style: number
}

export type UserPart =
  | { readonly part: 'text'; readonly text: string }
  | { readonly part: 'image'; readonly data: string | undefined }
  | { readonly part: 'document'; readonly data: string | undefined }
  | { readonly part: 'audio'; readonly data: string }
  | { readonly part: 'unknown'; readonly value: string }

export interface ScriptStep {
  readonly reasoning: string | undefined
  readonly text: string | undefined
  readonly calls: readonly ScriptCall[]
  readonly style: number
}

export interface ScriptCall {
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
  readonly result: string
  readonly picture: boolean
  readonly failed: boolean
}

/** Words as they occur: prose, code, escapes, other scripts, emoji, things that look like JSON. */
export const words: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 24 }).filter((text) => text.trim() !== ''),
  },
  fc.constantFrom(
    'ok',
    'line one\nline two',
    '{"a": 1}',
    '"quoted" \\ back',
    'tab\there',
    '𝒳 🚢 漢字',
    '[DONE]',
    '</system>',
  ),
)

const style = fc.nat({ max: 9_999 })
const base64 = fc.base64String({ minLength: 4, maxLength: 16 })
const toolNames = ['read_file', 'bash', 'search'] as const

const args: fc.Arbitrary<Record<string, unknown>> = fc.oneof(
  fc.dictionary(fc.constantFrom('path', 'q', 'n', '7', 'ü'), fc.oneof(words, fc.integer(), fc.boolean()), {
    maxKeys: 3,
  }),
  fc.constant({ nested: { list: [1, 'two', null] } }),
)

const call: fc.Arbitrary<ScriptCall> = fc.record({
  name: fc.constantFrom(...toolNames),
  args,
  result: words,
  picture: fc.boolean(),
  failed: fc.boolean(),
})

const step: fc.Arbitrary<ScriptStep> = fc.record({
  reasoning: fc.option(words, { nil: undefined }),
  text: fc.option(words, { nil: undefined }),
  calls: fc.array(call, { minLength: 1, maxLength: 3 }),
  style,
})

const userPart: fc.Arbitrary<UserPart> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ part: fc.constant('text' as const), text: words }) },
  fc.record({ part: fc.constant('image' as const), data: fc.option(base64, { nil: undefined }) }),
  fc.record({ part: fc.constant('document' as const), data: fc.option(base64, { nil: undefined }) }),
  fc.record({ part: fc.constant('audio' as const), data: base64 }),
  fc.record({ part: fc.constant('unknown' as const), value: words }),
)

export const script: fc.Arbitrary<Script> = fc.record({
  system: fc.array(words, { maxLength: 2 }),
  turns: fc.array(
    fc.record({
      user: fc.array(userPart, { minLength: 1, maxLength: 3 }),
      steps: fc.array(step, { maxLength: 2 }),
      answer: fc.option(words, { nil: undefined }),
      style,
    }),
    { maxLength: 4 },
  ),
  tools: fc.subarray([...toolNames]),
  maxTokens: fc.option(fc.integer({ min: 1, max: 64_000 }), { nil: undefined }),
  style,
})

/** True in one of `of` styles; `at` keeps the choices of one thing independent. */
export const choose = (style: number, at: number, of = 2): boolean => Math.floor(style / 7 ** at) % of === 0
