import type { RequestSettings } from '../../core/conversation.ts'
import type { ToolDeclaration } from '../../core/item.ts'
import { type Fields, numberOf, recordOf, stringOf, textOf } from '../../core/values.ts'
import type { Reader } from '../kit/body.ts'
import { toolsUnder } from '../kit/reading.ts'
import { chatDecoder } from '../openai-chat/decode.ts'

export const FORMAT = 'ollama-chat'

export const REASONING_KEYS = ['thinking']

/** Decodes this wire's bodies, which are similar to those of the chat wire. */
export const body = chatDecoder({
  format: FORMAT,
  instructionRoles: ['system'],
  resultRoles: ['tool'],
  reasoningKeys: REASONING_KEYS,
  hasImages: true,
  readTools,
  readSettings,
})

function readTools({ root }: Reader): ToolDeclaration[] {
  return toolsUnder(root, 'tools', FORMAT, (tool) => ({ name: toolNameOf(tool) }))
}

export const toolNameOf = (tool: unknown): string => textOf(recordOf(recordOf(tool)?.['function'])?.['name'])

function readSettings(body: Fields): RequestSettings {
  const options = recordOf(body['options']) ?? {}
  const cap = numberOf(options['num_predict'])
  const format = body['format']
  return {
    shapesAnswer: format !== undefined && format !== null && format !== '' ? true : undefined,
    // The server streams by default.
    stream: body['stream'] !== false,
    reasoning: body['think'] !== undefined && body['think'] !== false,
    model: stringOf(body['model']),
    window: positive(options['num_ctx']),
    // A negative number means no cap.
    maxOutputTokens: cap !== undefined && cap > 0 ? cap : undefined,
  }
}

function positive(value: unknown): number | undefined {
  const number = numberOf(value)
  return number !== undefined && number > 0 ? number : undefined
}
