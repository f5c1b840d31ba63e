import { camelCase, dashCase, pascalCase, snakeCase } from './editor-words.ts'
import { groupVersionOf } from './manifest-objects.ts'

/** What a key or file name is made of. */
export interface NamedResource {
  /** `v1`, `apps/v1`. */
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
}

const groupWord = (apiVersion: string): string =>
  pascalCase(groupVersionOf(apiVersion).group.replace(/\.k8s\.io$/, '').replace(/\.kubernetes\.io$/, '').replaceAll('.', '_'))

const behind = (name: string, prefix: string): string => (name.startsWith(prefix) ? name.slice(prefix.length) : name)

/**
 * The key of an object in a model: `kubedbComMongoDB`, `appApplication`, `secret_config`.
 * @param releaseName what the names of the release's objects begin with; empty in feature-set editors, whose objects have names of their own.
 */
export const resourceKey = ({ apiVersion, kind, name }: NamedResource, releaseName: string): string => {
  const key = camelCase(groupWord(apiVersion) + kind)
  const suffix = snakeCase(behind(name, releaseName))
  return suffix === '' ? key : `${key}_${suffix}`
}

/** What stands behind the kind in a key, as it stands in a name: `config` of `secret_config`; empty where there is none. */
export const nameSuffixOf = (key: string): string => {
  const at = key.indexOf('_')
  return at === -1 ? '' : dashCase(key.slice(at + 1))
}

/** The name that an object of this key has in a release. */
export const nameOfKey = (key: string, releaseName: string): string => {
  const suffix = nameSuffixOf(key)
  return suffix === '' ? releaseName : `${releaseName}-${suffix}`
}

const candidates = ({ apiVersion, kind, name }: NamedResource, releaseName: string): readonly string[] => {
  const suffix = pascalCase(behind(name, releaseName).replaceAll('.', '-'))
  return [snakeCase(kind), snakeCase(kind + suffix), snakeCase(groupWord(apiVersion) + kind + suffix)]
}

const tally = (words: readonly string[]): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}

/**
 * File names without ending, in the order of the objects and each one once: the kind alone where that tells them apart,
 * else with the name's suffix, else with the group too, at last with a number.
 */
export const resourceFilenames = (resources: readonly NamedResource[], releaseName: string): readonly string[] => {
  const choices = resources.map((resource) => candidates(resource, releaseName))
  const counts = [0, 1, 2].map((length) => tally(choices.map((choice) => choice[length] ?? '')))
  const taken = new Set<string>()
  return choices.map((choice) => {
    const free = choice.find((word, length) => (counts[length]?.get(word) ?? 0) === 1 && !taken.has(word)) ?? choice[2] ?? ''
    let name = free
    for (let number = 2; taken.has(name); number++) name = `${free}_${number}`
    taken.add(name)
    return name
  })
}
