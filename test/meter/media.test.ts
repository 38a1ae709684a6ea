import { deflateSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { Item, Media } from '../../src/core/item.ts'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { createMeter } from '../../src/meter/index.ts'
import { audioSeconds, imageSize, pdfPages } from '../../src/meter/media.ts'

function png(width: number, height: number, padding = 0): string {
  const head = Buffer.alloc(33)
  head.writeUInt32BE(0x89504e47, 0)
  head.writeUInt32BE(0x0d0a1a0a, 4)
  head.writeUInt32BE(13, 8)
  head.write('IHDR', 12, 'latin1')
  head.writeUInt32BE(width, 16)
  head.writeUInt32BE(height, 20)
  return Buffer.concat([head, Buffer.alloc(padding, 7)]).toString('base64')
}

function jpeg(width: number, height: number, exifBytes: number): string {
  const exif = Buffer.alloc(4 + exifBytes)
  exif.writeUInt16BE(0xffe1, 0)
  exif.writeUInt16BE(2 + exifBytes, 2)
  const frame = Buffer.from([
    0xff,
    0xc2,
    0,
    17,
    8,
    height >> 8,
    height & 255,
    width >> 8,
    width & 255,
    3,
    1,
    0x22,
    0,
    2,
    0x11,
    1,
    3,
    0x11,
    1,
  ])
  return Buffer.concat([Buffer.from([0xff, 0xd8]), exif, frame, Buffer.alloc(100)]).toString('base64')
}

function gif(width: number, height: number): string {
  const head = Buffer.alloc(20)
  head.write('GIF89a', 0, 'latin1')
  head.writeUInt16LE(width, 6)
  head.writeUInt16LE(height, 8)
  return head.toString('base64')
}

function webp(kind: 'VP8X' | 'VP8 ' | 'VP8L', width: number, height: number): string {
  const head = Buffer.alloc(40)
  head.write('RIFF', 0, 'latin1')
  head.write('WEBP', 8, 'latin1')
  head.write(kind, 12, 'latin1')
  if (kind === 'VP8X') {
    head.writeUIntLE(width - 1, 24, 3)
    head.writeUIntLE(height - 1, 27, 3)
  } else if (kind === 'VP8 ') {
    head.writeUInt16LE(width, 26)
    head.writeUInt16LE(height, 28)
  } else {
    head[20] = 0x2f
    head.writeUInt32LE(((width - 1) | ((height - 1) << 14)) >>> 0, 21)
  }
  return head.toString('base64')
}

describe('image size', () => {
  it.each([
    ['PNG', png(1920, 1080)],
    ['PNG as a data URL', `data:image/png;base64,${png(1920, 1080)}`],
    ['JPEG', jpeg(1920, 1080, 10)],
    ['progressive JPEG behind 60 kB of EXIF', jpeg(1920, 1080, 60_000)],
    ['GIF', gif(1920, 1080)],
    ['WebP extended', webp('VP8X', 1920, 1080)],
    ['WebP lossy', webp('VP8 ', 1920, 1080)],
    ['WebP lossless', webp('VP8L', 1920, 1080)],
  ])('is read from the header of a %s', (_, data) => {
    expect(imageSize(data)).toEqual({ width: 1920, height: 1080 })
  })

  it.each([
    ['nothing', ''],
    ['text', Buffer.from('hello there, this is no picture at all').toString('base64')],
    ['a cut PNG', png(10, 10).slice(0, 20)],
  ])('is unknown for %s', (_, data) => {
    expect(imageSize(data)).toBeUndefined()
  })
})

const image = (data: string): Media => ({ type: 'image', mime: 'image/png', data })

const pages = (number: number): string =>
  Buffer.from(`%PDF-1.7\n1 0 obj\n<< /Type /Pages /Kids [] /Count ${number} >>\nendobj\n%%EOF`).toString('base64')

/** A page tree in an object stream, as most writers pack it today. */
const packed = (number: number, bytes = 0): string => {
  const stream = deflateSync(
    Buffer.from(`1 0 2 45 << /Type /Catalog /Pages 2 0 R >> << /Type /Pages /Count ${number} /Kids [] >>`),
  )
  return Buffer.concat([
    Buffer.from(
      `%PDF-1.7\n5 0 obj\n<< /Type /ObjStm /N 2 /First 10 /Filter /FlateDecode /Length ${stream.length} >>\nstream\n`,
    ),
    stream,
    Buffer.from('\nendstream\nendobj\n'),
    Buffer.alloc(bytes, 7),
    Buffer.from('%%EOF'),
  ]).toString('base64')
}

describe('pages of a PDF', () => {
  it('are read from the clear and from object streams', () => {
    expect(pdfPages(pages(12))).toBe(12)
    expect(pdfPages(packed(60, 100_000))).toBe(60)
  })

  it('are unknown in a file that is packed in another way, or no PDF', () => {
    const random = Buffer.concat([Buffer.from('%PDF-1.7\n/ObjStm stream\n'), Buffer.alloc(5_000, 3)]).toString('base64')
    expect(pdfPages(random)).toBeUndefined()
    expect(pdfPages(Buffer.from('hello').toString('base64'))).toBeUndefined()
  })

  it('cost no more time in a file made of nothing but beginnings of streams', () => {
    const hostile = Buffer.from(`%PDF-1.7\n${'/ObjStm stream\n'.repeat(200_000)}`).toString('base64')
    const startedAt = performance.now()
    pdfPages(hostile)
    expect(performance.now() - startedAt).toBeLessThan(2_000)
  })
})

describe('media', () => {
  const meter = createMeter({ catalogue: bundledCatalogue() })
  const count = (model: string, ...media: Media[]) => {
    const item: Item = { id: 'm', kind: 'media', role: 'user', text: '', message: 0, media }
    return meter.countItem(model, item)
  }

  it.each([
    ['claude-sonnet-4-5', 1000, 1000, 1334],
    ['claude-sonnet-4-5', 200, 200, 54],
    ['claude-sonnet-4-5', 4000, 4000, 1600],
    ['claude-opus-4-7', 2000, 1500, 4000],
    ['gpt-4o', 1024, 1024, 85 + 170 * 4],
    ['gpt-4o', 2048, 4096, 85 + 170 * 6],
    ['gpt-4o', 512, 512, 85 + 170],
    ['gpt-4o-mini', 1024, 1024, 2833 + 5667 * 4],
    ['gpt-5', 1024, 1024, 70 + 140 * 4],
    ['gpt-4.1-mini', 1024, 1024, Math.ceil(1024 * 1.62)],
    ['gemini-2.5-pro', 300, 300, 258],
    ['gemini-2.5-pro', 960, 540, 258 * 6],
    ['gemini-3-pro-preview', 960, 540, 1120],
  ])('prices a picture on %s by its pixels: %i x %i is %i', (model, width, height, tokens) => {
    expect(count(model, image(png(width, height))).tokens).toBe(tokens)
  })

  it('prices the same picture alike in 100 kB and in 5 MB, and two as twice', () => {
    const small = count('claude-sonnet-4-5', image(png(1200, 900, 100_000)))
    const large = count('claude-sonnet-4-5', image(png(1200, 900, 5_000_000)))
    expect(large).toEqual(small)
    expect(count('claude-sonnet-4-5', image(png(1200, 900)), image(png(1200, 900))).tokens).toBe(small.tokens * 2)
    expect(small.high).toBeLessThan(2000)
  })

  it.each(['image', 'document', 'audio', 'video', 'file'] as const)(
    'states a %s behind a reference as unknown, never as zero',
    (type) => {
      for (const model of ['claude-sonnet-4-5', 'gpt-4o', 'gemini-2.5-pro']) {
        const { tokens, low, high, source } = count(model, { type, reference: 'file-123' })
        expect(source).toBe('unknown')
        expect(low).toBeGreaterThan(0)
        expect(tokens).toBeGreaterThan(0)
        expect(high).toBeGreaterThanOrEqual(tokens)
      }
    },
  )

  it('prices a PDF by its pages', () => {
    expect(pdfPages(pages(50))).toBe(50)
    const fifty = count('claude-sonnet-4-5', { type: 'document', mime: 'application/pdf', data: pages(50) })
    expect(fifty.tokens).toBe(50 * 2500)
    expect(count('gemini-2.5-pro', { type: 'document', mime: 'application/pdf', data: pages(50) }).tokens).toBe(
      50 * 258,
    )
  })

  it('counts page objects without a page tree, and bounds a PDF whose pages are packed away', () => {
    expect(pdfPages(Buffer.from('%PDF-1.4 << /Type /Page >> << /Type/Page /Parent 1 0 R >>').toString('base64'))).toBe(
      2,
    )
    const packed = Buffer.concat([
      Buffer.from('%PDF-1.7\n'),
      deflateSync(Buffer.alloc(90_000, 'x')),
      Buffer.alloc(60_000, 1),
    ]).toString('base64')
    expect(pdfPages(packed)).toBeUndefined()
    expect(count('claude-sonnet-4-5', { type: 'document', mime: 'application/pdf', data: packed })).toMatchObject({
      source: 'unknown',
    })
  })

  it('prices sound by its seconds', () => {
    const wav = Buffer.alloc(44 + 32_000 * 10)
    wav.write('RIFF', 0, 'latin1')
    wav.write('WAVEfmt ', 8, 'latin1')
    wav.writeUInt32LE(16, 16)
    wav.writeUInt32LE(32_000, 28)
    const data = wav.toString('base64')
    expect(audioSeconds(data)).toBeCloseTo(10, 1)
    expect(count('gemini-2.5-pro', { type: 'audio', mime: 'audio/wav', data }).tokens).toBeCloseTo(320, -1)
    const mp3 = Buffer.alloc(160_000)
    mp3.set([0xff, 0xfb, 0x90, 0])
    expect(audioSeconds(mp3.toString('base64'))).toBeCloseTo(10, 1)
    expect(audioSeconds(Buffer.alloc(100).toString('base64'))).toBeUndefined()
  })
})
