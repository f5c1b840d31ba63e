import { acronyms } from './editor-acronyms.ts'

const separators = /[\s_:/-]/
const capital = /\p{Lu}/u
const kept = /[\p{L}\p{Nd}\p{P}`]/u
const letterOrDigit = /[^\p{L}\p{Nd}]/gu

/** More than any name of Kubernetes has. */
const maxLength = 512

const asWord = (text: string): string => {
  const trimmed = text.replace(/^[\s_:/-]+|[\s_:/-]+$/g, '')
  const upper = trimmed.toUpperCase()
  return acronyms.has(upper) ? upper : trimmed
}

/** Splits at separators and before a capital that follows none; words that are acronyms come in capitals. */
const wordsOf = (whole: string): readonly string[] => {
  const text = whole.trim().slice(0, maxLength)
  const words: string[] = []
  let word = ''
  let isAfterCapital = false
  for (const sign of text) {
    const isCapital = capital.test(sign)
    const startsWord = separators.test(sign) || (isCapital && !isAfterCapital)
    if (startsWord || !kept.test(sign)) {
      words.push(asWord(word))
      word = startsWord ? sign : ''
    } else word += sign
    isAfterCapital = isCapital
  }
  words.push(asWord(word))
  const only = asWord(text)
  return acronyms.has(only) ? [only] : words.map((part) => part.replace(letterOrDigit, '')).filter((part) => part !== '')
}

const capitalised = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)

/** `kubedb_com` is `kubedbCom`, `MongoDB` is `mongoDB`, `API` is `api`. */
export const camelCase = (text: string): string => {
  const [first = '', ...rest] = wordsOf(text)
  return first.toLowerCase() + rest.map(capitalised).join('')
}

/** `kubedb_com` is `KubedbCom`. */
export const pascalCase = (text: string): string => capitalised(camelCase(text))

/** `MongoDB` is `mongo_db`, `-my-config` is `my_config`. */
export const snakeCase = (text: string): string => wordsOf(text).join('_').toLowerCase()

/** `my_config` is `my-config`. */
export const dashCase = (text: string): string => wordsOf(text).join('-').toLowerCase()
