import type { FreeObject, Json } from '../../kernel/json.ts'
import { asTable } from '../../formats/helm/value-tables.ts'
import type { Contact, Icon, Link, PackageDescriptor } from './types.ts'
import { definedFields } from '../../kernel/json.ts'

// Limits for third-party text in a chart; the excess is never shown.
const maxText = 4096
const maxIcon = 256 * 1024
const maxItems = 50

const textOf = (value: Json | undefined, max = maxText): string | undefined =>
  typeof value === 'string' && value !== '' && value.length <= max && value.isWellFormed() ? value : undefined

const listOf = (value: Json | undefined): readonly Json[] =>
  Array.isArray(value) ? (value as readonly Json[]).slice(0, maxItems) : []

/** Returns an address if it is a plain web address: no `javascript:`, no `data:`. */
const webAddress = (value: Json | undefined): string | undefined => {
  const text = textOf(value)
  return text !== undefined && /^https?:\/\/[^\s]+$/i.test(text) ? text : undefined
}

const iconTypes: Readonly<Record<string, string>> = {
  avif: 'image/avif',
  bmp: 'image/bmp',
  gif: 'image/gif',
  ico: 'image/x-icon',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  png: 'image/png',
  svg: 'image/svg+xml',
  webp: 'image/webp',
}

/** Returns the media type of a name's extension, if it is a picture type. */
export const pictureTypeOf = (name: string): string | undefined => {
  const extension = /\.([A-Za-z0-9]{2,5})$/.exec(name)?.[1]?.toLowerCase()
  return extension !== undefined && Object.hasOwn(iconTypes, extension) ? iconTypes[extension] : undefined
}

/**
 * Returns a picture by its address, which is never fetched: the type comes from a `data:` URI or from the extension.
 *
 * @internal
 */
export const iconOf = (value: Json | undefined): Icon | undefined => {
  const text = textOf(value, maxIcon)
  if (text === undefined) return undefined
  const inline = /^data:(image\/[a-z0-9.+-]{1,64})(?:;[^,]{0,100})?,/i.exec(text)
  if (inline !== null) return { src: text, type: (inline[1] ?? '').toLowerCase() }
  const src = webAddress(text)
  if (src === undefined) return undefined
  const type = pictureTypeOf(src.replace(/[?#].*$/s, ''))
  return type === undefined ? { src } : { src, type }
}

const iconsOf = (metadata: FreeObject): readonly Icon[] => {
  const icon = iconOf(metadata['icon'])
  return icon === undefined ? [] : [icon]
}

const contactOf = (value: Json): readonly Contact[] => {
  const { name, url, email } = asTable(value) ?? {}
  const [known, page, mail] = [textOf(name), webAddress(url), textOf(email)]
  if (known === undefined && page === undefined && mail === undefined) return []
  return [{ ...definedFields({ name: known, url: page, email: mail }) }]
}

const linksOf = (metadata: FreeObject): readonly Link[] =>
  [
    { description: 'website', at: metadata['home'] },
    ...listOf(metadata['sources']).map((at) => ({ description: 'source', at })),
  ].flatMap(({ description, at }) => {
    const url = webAddress(at)
    return url === undefined ? [] : [{ description, url }]
  })

const orNothing = <K extends string, A>(key: K, items: readonly A[]): { readonly [key in K]?: readonly A[] } =>
  (items.length === 0 ? {} : { [key]: items }) as { readonly [key in K]?: readonly A[] }

/**
 * Returns the description in Chart.yaml. Addresses that are not web addresses, and values of the wrong type, are
 * omitted.
 */
export const descriptorOf = (metadata: FreeObject): PackageDescriptor => {
  const [type, description] = [textOf(metadata['type'], 64), textOf(metadata['description'])]
  return {
    ...definedFields({ type, description }),
    ...orNothing('icons', iconsOf(metadata)),
    ...orNothing('maintainers', listOf(metadata['maintainers']).flatMap(contactOf)),
    ...orNothing(
      'keywords',
      listOf(metadata['keywords']).flatMap((word) => textOf(word, 256) ?? []),
    ),
    ...orNothing('links', linksOf(metadata)),
  }
}

const givenIcon = (value: Json): readonly Icon[] => {
  const { src, size, type } = asTable(value) ?? {}
  const icon = iconOf(src)
  if (icon === undefined) return []
  const [told, kind] = [textOf(size, 64), textOf(type, 64)]
  const known = icon.type ?? (kind !== undefined && /^image\/[a-z0-9.+-]+$/.test(kind) ? kind : undefined)
  return [{ src: icon.src, ...definedFields({ size: told, type: known }) }]
}

const givenLink = (value: Json): readonly Link[] => {
  const { description, url } = asTable(value) ?? {}
  const [text, at] = [textOf(description), webAddress(url)]
  return at === undefined ? [] : [{ ...definedFields({ description: text }), url: at }]
}

/** Returns a descriptor from a bundle, by the same rules. */
export const givenDescriptor = (spec: FreeObject): PackageDescriptor => {
  const [type, description, notes] = [textOf(spec['type'], 64), textOf(spec['description']), textOf(spec['notes'])]
  return {
    ...definedFields({ type, description }),
    ...orNothing('icons', listOf(spec['icons']).flatMap(givenIcon)),
    ...orNothing('maintainers', listOf(spec['maintainers']).flatMap(contactOf)),
    ...orNothing(
      'keywords',
      listOf(spec['keywords']).flatMap((word) => textOf(word, 256) ?? []),
    ),
    ...orNothing('links', listOf(spec['links']).flatMap(givenLink)),
    ...definedFields({ notes }),
  }
}

/** Returns a name as a title: `kube-ui_server` is `Kube Ui Server`. */
export const humanised = (name: string): string =>
  name
    .split(/[\s._-]+/)
    .filter((word) => word !== '')
    .map((word) => {
      const [first = '', ...rest] = [...word]
      return first.toUpperCase() + rest.join('')
    })
    .join(' ')
