import type { PixelSize } from './image-size.ts'

/** How a vendor turns pixels into tokens: what is billed, and the least and most a picture of this size can cost. */
export interface ImageTokens {
  readonly tokens: number
  readonly low: number
  readonly high: number
}

/** Tokens of a picture on a model; without a size, the vendor's most expensive picture as the upper bound. */
export function imageTokens(model: string, family: string, size: PixelSize | undefined): ImageTokens {
  if (family.startsWith('claude')) return claude(family === 'claude-2026', size)
  if (family === 'gemini') return gemini(model, size)
  return openai(model, size)
}

/**
 * width * height / 750 after the longer edge is brought down to 1,568 pixels and the whole to about 1,600 tokens; the newer
 * models see up to 2,576 pixels and 4,784 tokens.
 */
function claude(larger: boolean, size: PixelSize | undefined): ImageTokens {
  const most = larger ? 4784 : 1600
  if (size === undefined) return { tokens: most, low: 1, high: most }
  const edge = larger ? 2576 : 1568
  const scale = Math.min(1, edge / Math.max(size.width, size.height))
  const tokens = Math.max(1, Math.min(most, Math.ceil((size.width * scale * size.height * scale) / 750)))
  return { tokens, low: Math.floor(tokens * 0.95), high: Math.ceil(tokens * 1.05) + 4 }
}

const GEMINI_TILE = 258
/** Gemini 3 bills a fixed number per picture at its default resolution. */
const GEMINI_3 = 1120

function gemini(model: string, size: PixelSize | undefined): ImageTokens {
  if (/gemini-3/.test(model)) return { tokens: GEMINI_3, low: GEMINI_TILE, high: GEMINI_3 }
  if (size === undefined) return { tokens: GEMINI_TILE * 4, low: GEMINI_TILE, high: GEMINI_TILE * 16 }
  const { width, height } = size
  if (width <= 384 && height <= 384) return { tokens: GEMINI_TILE, low: GEMINI_TILE, high: GEMINI_TILE }
  const unit = Math.min(768, Math.max(256, Math.floor(Math.min(width, height) / 1.5)))
  const tiles = Math.ceil(width / unit) * Math.ceil(height / unit)
  return { tokens: GEMINI_TILE * tiles, low: GEMINI_TILE, high: GEMINI_TILE * tiles }
}

/** OpenAI bills tiles of 512 pixels on most models and patches of 32 pixels on the small ones. */
interface TileRule {
  readonly base: number
  readonly tile: number
}

const TILE_RULES: readonly (readonly [RegExp, TileRule])[] = [
  [/4o-mini/, { base: 2833, tile: 5667 }],
  [/gpt-5/, { base: 70, tile: 140 }],
  [/\bo[134]/, { base: 75, tile: 150 }],
]
const TILES_ELSE: TileRule = { base: 85, tile: 170 }

const PATCH_RULES: readonly (readonly [RegExp, number])[] = [
  [/(gpt-5|gpt-4\.1)[\w.-]*nano/, 2.46],
  [/(gpt-5|gpt-4\.1)[\w.-]*mini/, 1.62],
  [/o4-mini/, 1.72],
]
const MAX_PATCHES = 1536

function openai(model: string, size: PixelSize | undefined): ImageTokens {
  const patch = PATCH_RULES.find(([pattern]) => pattern.test(model))
  if (patch !== undefined) {
    const patches =
      size === undefined ? MAX_PATCHES : Math.min(MAX_PATCHES, Math.ceil(size.width / 32) * Math.ceil(size.height / 32))
    const tokens = Math.ceil(patches * patch[1])
    return { tokens, low: size === undefined ? 1 : Math.floor(tokens * 0.95), high: tokens }
  }
  const { base, tile } = TILE_RULES.find(([pattern]) => pattern.test(model))?.[1] ?? TILES_ELSE
  const tokens = base + tile * (size === undefined ? MOST_TILES : tilesOf(size))
  // Low detail costs the base alone, and the wire's `detail` may be `auto`.
  return { tokens, low: base, high: tokens }
}

/** 768 by 2,048 pixels is the largest that the scaling leaves. */
const MOST_TILES = 8

function tilesOf({ width, height }: PixelSize): number {
  const fit = Math.min(1, 2048 / Math.max(width, height))
  const shorter = Math.min(width, height) * fit
  const scale = fit * Math.min(1, 768 / shorter)
  return Math.ceil((width * scale) / 512) * Math.ceil((height * scale) / 512)
}
