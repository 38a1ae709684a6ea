import type { DeclaredTool as AnthropicTool } from './anthropic-messages/declare.ts'
import type { DeclaredTool as GeminiTool } from './gemini/declare.ts'
import type { DeclaredTool as OllamaTool } from './ollama-chat/declare.ts'
import type { DeclaredTool as ChatTool } from './openai-chat/declare.ts'
import type { DeclaredTool as ResponsesTool } from './openai-responses/declare.ts'
import type { WireFormat } from './wires.ts'

interface ByFormat {
  'anthropic-messages': AnthropicTool
  'openai-chat': ChatTool
  'openai-responses': ResponsesTool
  gemini: GeminiTool
  'ollama-chat': OllamaTool
}

/** A tool as an element of a request's `tools`, by API format: what the vendor's SDK takes there. A format left out does not compile. */
export type DeclaredTools = { [Format in WireFormat]: ByFormat[Format] }
