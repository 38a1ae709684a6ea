import { PlimsollError } from '../../core/errors.ts'
import { anthropicWriter } from '../anthropic-messages/answer.ts'
import type { AnswerWriter } from './answer.ts'
import { chatWriter } from '../openai-chat/answer.ts'
import { geminiWriter } from '../gemini/answer.ts'
import { responsesWriter } from '../openai-responses/answer.ts'

export { eventsOf, type AnswerEnd, type AnswerHead, type AnswerPart, type AnswerWriter } from './answer.ts'
export { translateStream, translateWhole, type StreamTranslation } from './translate.ts'

const WRITERS: Readonly<Record<string, () => AnswerWriter>> = {
  'anthropic-messages': () => anthropicWriter,
  'openai-chat': chatWriter,
  'openai-responses': responsesWriter,
  gemini: geminiWriter,
}

/** A writer for one answer of a wire. */
export function answerWriter(format: string): AnswerWriter {
  const make = WRITERS[format]
  if (make === undefined) throw new PlimsollError('unsupported', `There is no wire format called ${format}.`)
  return make()
}
