/** Which tokenizer a model uses, by its normalised id. The first pattern that fits decides. */
const FAMILIES: readonly (readonly [RegExp, string])[] = [
  // Opus 4.7 brought a tokenizer that is about 1.4 times heavier; every later Claude has it.
  [/claude.*(opus-4-[7-9]|(opus|sonnet|haiku)-[5-9]|fable|mythos)/, 'claude-2026'],
  [/claude/, 'claude'],
  [/gemini|gemma|palm|bison/, 'gemini'],
  [/gpt-3-5|gpt-35|gpt-4($|-(0\d{3}|1106|32k|turbo|vision))|text-embedding/, 'cl100k'],
  [/gpt|chatgpt|codex|(^|-)o[134]($|-)|computer-use/, 'o200k'],
  [/llama-?4/, 'llama4'],
  [/llama-?2|codellama|vicuna/, 'llama2'],
  [/llama/, 'llama3'],
  [/qwen|qwq|qvq/, 'qwen'],
  [/deepseek/, 'deepseek'],
  [/mistral|mixtral|codestral|devstral|magistral|ministral|pixtral|voxtral/, 'mistral'],
  [/grok/, 'grok'],
  [/kimi|moonshot/, 'kimi'],
  [/glm/, 'glm'],
  [/command|cohere/, 'cohere'],
  [/nova/, 'nova'],
  [/minimax/, 'minimax'],
]

export function tokenizerOf(normalisedId: string): string {
  return FAMILIES.find(([pattern]) => pattern.test(normalisedId))?.[1] ?? 'unknown'
}

/** From Fable 5.1 on, thinking blocks are bound to everything before them. */
export function bindsThinking(normalisedId: string): boolean {
  return /claude-fable-(5-[1-9]|[6-9])/.test(normalisedId)
}

/** Anthropic caches up to marks in the request; the others cache the longest common prefix by themselves. */
export function cachingOf(normalisedId: string): 'marks' | 'automatic' {
  return /claude|nova/.test(normalisedId) ? 'marks' : 'automatic'
}
