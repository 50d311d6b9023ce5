/**
 * A broker's header may hold any bytes, an event's headers are text. What is no text is shown as a data URL, and where what
 * looks like one of such bytes is written as these they come through retries as they were.
 */
const BINARY = 'data:application/octet-stream;base64,'
const NO_TEXT = '\ufffd'

export const textIn = (value: Buffer): string => {
  const text = value.toString()
  if (!text.includes(NO_TEXT) || Buffer.from(text).equals(value)) return text
  return BINARY + value.toString('base64')
}

export const bytesOf = (text: string): Buffer => {
  if (!text.startsWith(BINARY)) return Buffer.from(text)
  const value = Buffer.from(text.slice(BINARY.length), 'base64')
  return textIn(value) === text ? value : Buffer.from(text)
}
