/**
 * Brings the many spellings of a model id to one: vendor paths (`openrouter/anthropic/…`), clouds (`us.anthropic.…-v1:0`,
 * `publishers/anthropic/models/…@20250929`, Bedrock ARNs), dates, variants behind a colon, dots for dashes, and Claude's two
 * word orders.
 */
export function normaliseId(id: string): string {
  let name = id
    .trim()
    .toLowerCase()
    .replace(/\[1m\]$/, '')
  if (name.startsWith('ft:')) name = name.slice(3).split(':')[0]!
  name = name.slice(name.lastIndexOf('/') + 1)
  name = name.replace(/@.*$/, '')
  // Geographic profiles of Bedrock, then the vendor in front of its model.
  name = name.replace(/^(us-gov|us|eu|apac|ap|au|jp|ca|sa|global)\./, '')
  name = name.replace(
    /^(anthropic|amazon|meta|mistral|cohere|ai21|deepseek|qwen|openai|google|moonshotai?|minimax|zai|nvidia|writer)\./,
    '',
  )
  name = name.replace(/-v\d+(:\d+)?$/, '').replace(/:\d+$/, '')
  name = name.replace(/:(free|beta|nitro|floor|online|extended|thinking|exacto|latest|cloud)$/, '')
  name = name.replace(/^(anthropic|databricks|meta|openai|google)-(?=claude|llama|gpt|gemini)/, '')
  name = name.replaceAll('.', '-').replaceAll('_', '-').replaceAll(':', '-')
  name = name.replace(/-(latest|default|preview|exp)$/, '')
  name = name
    .replace(/-20\d\d-?\d\d-?\d\d$/, '')
    .replace(/-preview-\d\d-\d{2,4}$/, '')
    .replace(/-(001|002)$/, '')
  name = name.replace(/-(latest|preview)$/, '')
  // "claude-4-5-sonnet" is "claude-sonnet-4-5"; Claude 3 keeps its number in front.
  name = name.replace(/^claude-([4-9](?:-\d)?)-(opus|sonnet|haiku)/, 'claude-$2-$1')
  // The zero of "claude-sonnet-4-0" is no version of its own.
  return name.replace(/^(claude-(?:opus|sonnet)-4)-0$/, '$1')
}

/** Shorter and shorter heads of an id at its dashes: a deployment called `gpt-4o-mini-prod` is still a `gpt-4o-mini`. */
export function* headsOf(normalised: string): Generator<string> {
  let end = normalised.lastIndexOf('-')
  while (end > 2) {
    yield normalised.slice(0, end)
    end = normalised.lastIndexOf('-', end - 1)
  }
}
