import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Outcome } from '../kernel/failure.ts'
import { isObject, listAt, parseJson, textAt } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { token } from '../kernel/token.ts'
import { termWord } from './contract-terms.ts'

/** What a vendor shows about a product that contracts can be made for. */
export interface ProductInfo {
  readonly displayName: string
  readonly productLine: string
  readonly tierName: string
  readonly twitterHandle: string
  readonly quickstartLink: string
  readonly features: readonly string[]
  readonly mailingLists: readonly string[]
}
/** By the name that a contract has. */
export type Products = Readonly<Record<string, ProductInfo>>
export const ProductsToken = token<Products>('contracts.Products')

const fields = ['DisplayName', 'ProductLine', 'TierName', 'TwitterHandle', 'QuickstartLink', 'Features', 'MailingLists']
const isTexts = (value: unknown): boolean => value === undefined || (Array.isArray(value) && value.every((each) => typeof each === 'string'))

const productFault = (name: string, info: unknown): string | undefined => {
  if (!termWord.test(name)) return `the product ${name} must be lower-case letters, digits, - and ., at most 64`
  if (!isObject(info)) return `the product ${name} must be an object`
  const unknown = Object.keys(info).find((key) => !fields.includes(key))
  if (unknown !== undefined) return `the product ${name} has the unknown field ${unknown}`
  const { Features: features, MailingLists: lists, ...texts } = info
  if (Object.values(texts).some((value) => typeof value !== 'string')) return `the fields of the product ${name} must be texts`
  if (!isTexts(features) || !isTexts(lists)) return `Features and MailingLists of the product ${name} must be lists of texts`
  const wrong = listAt(info, 'Features').find((feature) => !termWord.test(String(feature)))
  return wrong === undefined ? undefined : `the feature ${String(wrong)} of the product ${name} must be lower-case letters, digits, - and ., at most 64`
}

/** Parses a JSON object of products by name. The Left says what is wrong. A field that is absent gets its default. */
export const parseProducts = (text: string): Either<string, Products> => {
  const parsed = parseJson(text)
  if (!parsed.ok || !isObject(parsed.value)) return left('it must be a JSON object of products by name')
  const products: Record<string, ProductInfo> = {}
  for (const [name, info] of Object.entries(parsed.value)) {
    const wrong = productFault(name, info)
    if (wrong !== undefined) return left(wrong)
    const text = (key: string, otherwise: string): string => (textAt(info, key) === '' ? otherwise : textAt(info, key))
    products[name] = {
      displayName: text('DisplayName', name),
      productLine: text('ProductLine', name),
      tierName: text('TierName', 'enterprise'),
      twitterHandle: text('TwitterHandle', ''),
      quickstartLink: text('QuickstartLink', ''),
      features: listAt(info, 'Features').map(String),
      mailingLists: listAt(info, 'MailingLists').map(String),
    }
  }
  return right(products)
}

/** Returns the products that the vendor has listed. */
export const makeListProducts =
  ({ products }: { readonly products: Products }) =>
  async (_call: SignedInCall<never>): Outcome<never, Products> =>
    right(products)
