import type { RequestSettings } from '../../core/conversation.ts'
import type { Item, ItemCore, Media, Role, ToolDeclaration } from '../../core/item.ts'
import { listOf, type Fields, numberOf, parsedJson, recordOf, recordsIn, stringOf } from '../../core/values.ts'
import { compactJson, member } from '../json/json-index.ts'
import { decoder, type Position, type Reader } from '../kit/body.ts'
import { sealedBy } from '../kit/editing.ts'
import { badInput, objectsIn, placedItem } from '../kit/reading.ts'
import { isRecursiveSchema } from '../kit/tools.ts'

export const FORMAT = 'bedrock-converse'

/** Where an item stands: a block of a message. */
export type ItemPosition = Position

/** Cache points are blocks of their own and say nothing: they are no items, so that one that moves changes no history. */
export const isCachePoint = (block: unknown): boolean => recordOf(recordOf(block)?.['cachePoint']) !== undefined

/** This wire's bodies, read. The model stands in the URL, and so does whether the answer is streamed. */
export const body = decoder<ItemPosition>({
  format: FORMAT,
  listPath: () => ['messages'],
  pathOf: ({ message, index }) => ['messages', message, 'content', index],
  readMessage,
  readHead,
  readTools: ({ root }) => {
    const list = member(member(root, 'toolConfig'), 'tools')
    return recordsIn(list?.value).flatMap((tool, i): ToolDeclaration[] => {
      if (isCachePoint(tool)) return []
      const schema = recordOf(recordOf(tool['toolSpec'])?.['inputSchema'])?.['json']
      return [
        { name: toolName(tool), text: list!.at(i)!.raw, isRecursive: isRecursiveSchema(schema) ? true : undefined },
      ]
    })
  },
  readSettings,
})

export const { positionOf, nodeAt } = body

/** A tool is declared by the client, or run by the provider. */
export const toolName = (tool: unknown): string => {
  const fields = recordOf(tool)
  return stringOf((recordOf(fields?.['toolSpec']) ?? recordOf(fields?.['systemTool']))?.['name']) ?? ''
}

const MEDIA = ['image', 'document', 'video', 'audio'] as const

/** Reads one block. `raw` gives its JSON text, `rawInput` that of a call's arguments, as they stand on the wire. */
export function readBlock(block: Fields, role: Role, raw: () => string, rawInput: () => string): ItemCore {
  const text = stringOf(block['text'])
  if (text !== undefined) return { kind: role === 'assistant' ? 'assistant' : 'user', text }
  const call = recordOf(block['toolUse'])
  if (call !== undefined) {
    const serverSide = call['type'] === 'server_tool_use' ? true : undefined
    return {
      kind: 'call',
      text: rawInput(),
      callId: stringOf(call['toolUseId']),
      toolName: stringOf(call['name']),
      serverSide,
    }
  }
  const result = recordOf(block['toolResult'])
  if (result !== undefined) return readResult(result, role)
  const reasoning = recordOf(block['reasoningContent'])
  if (reasoning !== undefined) {
    const said = recordOf(reasoning['reasoningText'])
    if (said !== undefined) return { kind: 'reasoning', text: stringOf(said['text']) ?? '', sealed: true }
    // Encrypted: the meter takes its size from the payload.
    return { kind: 'reasoning', text: '', sealed: true, ...sealedBy(stringOf(reasoning['redactedContent'])) }
  }
  const media = readMedia(block)
  return media === undefined
    ? { kind: 'opaque', text: raw(), sealed: true }
    : { kind: 'media', text: documentText(block), media: [media] }
}

function readResult(result: Fields, role: Role): ItemCore {
  const parts = recordsIn(result['content'])
  const media = parts.flatMap((part) => readMedia(part) ?? [])
  const texts = parts.flatMap((part) => {
    const json = part['json']
    return stringOf(part['text']) ?? (json === undefined ? [] : compactJson(JSON.stringify(json)))
  })
  const isServers = role === 'assistant'
  return {
    kind: 'result',
    text: texts.join('\n'),
    callId: stringOf(result['toolUseId']),
    isError: result['status'] === 'error' ? true : undefined,
    media: media.length > 0 ? media : undefined,
    serverSide: isServers ? true : undefined,
    sealed: isServers ? true : undefined,
  }
}

const MIME: Readonly<Record<string, string>> = {
  jpg: 'image/jpeg',
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  mp3: 'audio/mpeg',
}

function readMedia(block: Fields): Media | undefined {
  const type = MEDIA.find((kind) => recordOf(block[kind]) !== undefined)
  if (type === undefined) return undefined
  const fields = recordOf(block[type])!
  const source = recordOf(fields['source'])
  const format = stringOf(fields['format'])
  return {
    type,
    mime:
      format === undefined ? undefined : (MIME[format] ?? `${type === 'document' ? 'application' : type}/${format}`),
    data: stringOf(source?.['bytes']),
    reference: stringOf(recordOf(source?.['s3Location'])?.['uri']),
    name: stringOf(fields['name']),
  }
}

/** A document can carry plain text instead of a file; that text is what the model reads. */
function documentText(block: Fields): string {
  const source = recordOf(recordOf(block['document'])?.['source'])
  const parts = recordsIn(source?.['content']).flatMap((part) => stringOf(part['text']) ?? [])
  return stringOf(source?.['text']) ?? parts.join('\n')
}

function readHead({ root }: Reader, { system }: Fields): Item[] {
  if (system === undefined || system === null) return []
  if (!Array.isArray(system)) throw badInput(FORMAT, 'system', 'an array')
  return objectsIn(system, FORMAT, 'system').flatMap((fields, block): Item[] => {
    if (isCachePoint(fields)) return []
    const text = stringOf(fields['text']) ?? member(root, 'system')!.items![block]!.raw
    return [{ id: `s${block}`, kind: 'instruction', role: 'system', text, message: -1 }]
  })
}

function readMessage({ root, toolNames }: Reader, message: Fields, index: number): Item[] {
  const path = `messages[${index}]`
  const { role, content } = message
  if (role !== 'user' && role !== 'assistant') throw badInput(FORMAT, `${path}.role`, '"user" or "assistant"')
  if (!Array.isArray(content)) throw badInput(FORMAT, `${path}.content`, 'an array')
  const blocks = objectsIn(content, FORMAT, `${path}.content`)
  const isEmpty = blocks.every(isCachePoint)
  return blocks.flatMap((fields, block): Item[] => {
    // A message that has nothing else keeps its place by it.
    if (isCachePoint(fields) && !isEmpty) return []
    const place: ItemPosition = { message: index, index: block }
    const read = readBlock(
      fields,
      role,
      () => nodeAt(root, place).raw,
      () => member(member(nodeAt(root, place), 'toolUse'), 'input')?.raw ?? '{}',
    )
    const { kind, callId = '' } = read
    if (kind === 'call' && read.toolName !== undefined) toolNames.set(callId, read.toolName)
    return [
      placedItem(FORMAT, place, block, kind === 'result' && read.serverSide !== true ? 'tool' : role, {
        ...read,
        toolName: read.toolName ?? (kind === 'result' ? toolNames.get(callId) : undefined),
      }),
    ]
  })
}

function readSettings(request: Fields): RequestSettings {
  const config = recordOf(request['toolConfig'])
  const choice = recordOf(config?.['toolChoice'])
  const forcesTool = choice?.['any'] !== undefined || choice?.['tool'] !== undefined
  const more = recordOf(request['additionalModelRequestFields'])
  const thinking = recordOf(more?.['thinking']) ?? recordOf(more?.['reasoning_config'])
  const format = recordOf(recordOf(recordOf(request['outputConfig'])?.['textFormat'])?.['structure'])
  const schema = stringOf(recordOf(format?.['jsonSchema'])?.['schema'])
  const isStored = recordOf(request['promptVariables']) !== undefined
  const servers = listOf(config?.['tools']).flatMap(
    (tool) => stringOf(recordOf(recordOf(tool)?.['systemTool'])?.['name']) ?? [],
  )
  const unseen = [...(isStored ? ['promptVariables'] : []), ...servers]
  return {
    unseen: unseen.length > 0 ? unseen : undefined,
    forcesTool: forcesTool ? true : undefined,
    answerSchema: schema !== undefined && parsedJson(schema) !== undefined ? schema : undefined,
    shapesAnswer: forcesTool || format !== undefined ? true : undefined,
    // The URL says whether this wire streams.
    stream: false,
    reasoning: thinking?.['type'] === 'enabled' || thinking?.['type'] === 'adaptive',
    maxOutputTokens: numberOf(recordOf(request['inferenceConfig'])?.['maxTokens']),
    thinkingBudget: numberOf(thinking?.['budget_tokens']),
  }
}
