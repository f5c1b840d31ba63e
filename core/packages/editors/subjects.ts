import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../kernel/failure.ts'
import type { FreeObject } from '../../kernel/json.ts'
import { isObject } from '../../kernel/json.ts'
import { own } from './json-members.ts'
import { ModelRefused } from './ports.ts'
import type { EditorSubject, ResourceId } from './types.ts'

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const releaseName = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/
const group = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*)?$/
const version = /^(?:v[0-9]{1,4}(?:(?:alpha|beta)[0-9]{1,4})?)?$/
const plural = /^(?:[a-z0-9-]{1,63})?$/
const kind = /^(?:[A-Z][A-Za-z0-9]{0,62})?$/
const scope = /^(?:Namespaced|Cluster)?$/

interface Rule {
  readonly at: string
  readonly key: string
  readonly pattern: RegExp
  readonly max: number
  readonly what: string
  readonly isNeeded?: boolean
}

const resourceRules: readonly Rule[] = [
  { at: 'metadata.resource.group', key: 'group', pattern: group, max: 253, what: 'an API group' },
  { at: 'metadata.resource.version', key: 'version', pattern: version, max: 20, what: 'a version of an API group, like v1' },
  { at: 'metadata.resource.name', key: 'name', pattern: plural, max: 63, what: 'the plural of a resource, in lower-case letters' },
  { at: 'metadata.resource.kind', key: 'kind', pattern: kind, max: 63, what: 'a kind' },
  { at: 'metadata.resource.scope', key: 'scope', pattern: scope, max: 10, what: 'Namespaced or Cluster' },
]
const releaseRules: readonly Rule[] = [
  { at: 'metadata.release.name', key: 'name', pattern: releaseName, max: 53, what: 'a release name', isNeeded: true },
  { at: 'metadata.release.namespace', key: 'namespace', pattern: label, max: 63, what: 'a namespace' },
]

/** Returns the texts that the rules name; an absent or null text is empty. */
const readTexts = (object: FreeObject, rules: readonly Rule[], problems: string[]): ReadonlyMap<string, string> =>
  new Map(
    rules.map((rule) => {
      const value = own(object, rule.key) ?? ''
      const isFine = typeof value === 'string' && value.length <= rule.max && (value === '' ? rule.isNeeded !== true : rule.pattern.test(value))
      if (!isFine) problems.push(`${rule.at}: ${rule.what} is expected`)
      return [rule.key, typeof value === 'string' ? value : '']
    }),
  )

const readPart = (metadata: FreeObject, key: string, rules: readonly Rule[], problems: string[]): ReadonlyMap<string, string> => {
  const part = own(metadata, key)
  if (isObject(part)) return readTexts(part, rules, problems)
  problems.push(`metadata.${key}: an object is expected`)
  return new Map()
}

/**
 * Returns the subject of a model, of options or of a request: `metadata.resource` and `metadata.release`. The resource must
 * have a plural or a kind, and the release a name; the namespace defaults to `default`. Failure: ModelRefused.
 */
export const readSubject = (model: FreeObject): Either<Failure<'ModelRefused'>, EditorSubject> => {
  const metadata = own(model, 'metadata')
  if (!isObject(metadata)) return left(ModelRefused('The body is not valid: metadata: an object is expected.', { errors: ['metadata: an object is expected'] }))
  const problems: string[] = []
  const resource = readPart(metadata, 'resource', resourceRules, problems)
  const release = readPart(metadata, 'release', releaseRules, problems)
  const text = (texts: ReadonlyMap<string, string>, key: string): string => texts.get(key) ?? ''
  if (problems.length === 0 && text(resource, 'name') === '' && text(resource, 'kind') === '') problems.push('metadata.resource: the name (plural) or the kind is needed')
  if (problems.length > 0) return left(ModelRefused(`The body is not valid: ${problems.join('; ')}.`, { errors: problems }))
  return right({
    resource: { group: coreless(text(resource, 'group')), version: text(resource, 'version'), name: text(resource, 'name'), kind: text(resource, 'kind'), scope: text(resource, 'scope') },
    release: { name: text(release, 'name'), namespace: text(release, 'namespace') || 'default' },
  })
}

/** Clients write the core group as an empty string or as `core`. */
const coreless = (name: string): string => (name === 'core' ? '' : name)

/** Feature sets name their objects freely; the release's name is not part of the names. */
export const isFeatureSet = ({ group: of, name }: Pick<ResourceId, 'group' | 'name'>): boolean => of === 'ui.k8s.appscode.com' && name === 'featuresets'
