let segmenter: Intl.Segmenter | undefined

/** The characters of a text as users see them. The segmenter is made on first use, since it takes 20 ms. */
export const graphemes = (text: string): Intl.Segments =>
  (segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' })).segment(text)
