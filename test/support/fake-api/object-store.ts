import { randomUUID } from 'node:crypto'
import { groupOf, kindsWith, type ResourceKind } from './kinds.ts'
import { timestamp, type KubeObject } from './kube-object.ts'
import { notFound, StatusError } from './status-answer.ts'

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly kind: ResourceKind
  readonly object: KubeObject
  readonly version: number
}

export type Propagation = 'Background' | 'Foreground' | 'Orphan'

/** What the API holds, with its history for watches. */
export class ObjectStore {
  readonly #objects = new Map<string, KubeObject>()
  readonly #history: WatchEvent[] = []
  readonly #listeners = new Set<(event: WatchEvent) => void>()
  #version = 1000
  #kinds: readonly ResourceKind[] = kindsWith([])

  get version(): number {
    return this.#version
  }

  get kinds(): readonly ResourceKind[] {
    return this.#kinds
  }

  kindOf({ apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>): ResourceKind {
    const { group, version } = groupOf(apiVersion)
    const found = this.#kinds.find((each) => each.group === group && each.version === version && each.kind === kind)
    if (found === undefined)
      throw new StatusError(404, 'NotFound', `no matches for kind "${kind}" in version "${apiVersion}"`)
    return found
  }

  get(kind: ResourceKind, namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#objects.get(keyOf(kind, namespace, name))
  }

  /** In the order of namespace and name. */
  list(kind: ResourceKind, namespace: string | undefined): readonly KubeObject[] {
    const prefix = namespace === undefined ? `${kind.group}/${kind.resource}/` : `${keyOf(kind, namespace, '')}`
    return [...this.#objects]
      .filter(([key]) => key.startsWith(prefix))
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([, object]) => object)
  }

  create(kind: ResourceKind, wanted: KubeObject): KubeObject {
    const { name, namespace } = wanted.metadata
    if (this.get(kind, namespace, name) !== undefined)
      throw new StatusError(
        409,
        'AlreadyExists',
        `${kind.resource}${kind.group === '' ? '' : `.${kind.group}`} "${name}" already exists`,
      )
    const object = {
      ...wanted,
      metadata: {
        ...wanted.metadata,
        uid: randomUUID(),
        creationTimestamp: timestamp(),
        generation: 1,
        resourceVersion: String(++this.#version),
      },
    }
    this.#keep('ADDED', kind, object)
    return object
  }

  /** The generation grows with the spec. */
  replace(kind: ResourceKind, known: KubeObject, wanted: KubeObject): KubeObject {
    const { uid, creationTimestamp, generation = 1, deletionTimestamp } = known.metadata
    const object = {
      ...wanted,
      metadata: {
        ...wanted.metadata,
        ...(uid === undefined ? {} : { uid }),
        ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
        ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
        generation: isSame(known.spec, wanted.spec) ? generation : generation + 1,
        resourceVersion: known.metadata.resourceVersion ?? '',
      },
    }
    if (isSame(known, object)) return known
    object.metadata.resourceVersion = String(++this.#version)
    if (deletionTimestamp !== undefined && (object.metadata.finalizers ?? []).length === 0) {
      this.#drop(kind, object)
      return object
    }
    this.#keep('MODIFIED', kind, object)
    return object
  }

  /** With finalizers it is only marked; else it goes, and what it owns with it. */
  remove(kind: ResourceKind, object: KubeObject, propagation: Propagation): KubeObject {
    if ((object.metadata.finalizers ?? []).length > 0) {
      if (object.metadata.deletionTimestamp !== undefined) return object
      const marked = {
        ...object,
        metadata: { ...object.metadata, deletionTimestamp: timestamp(), resourceVersion: String(++this.#version) },
      }
      this.#keep('MODIFIED', kind, marked)
      return marked
    }
    this.#drop(kind, object)
    if (kind.resource === 'namespaces') this.#dropAll((each) => each.metadata.namespace === object.metadata.name)
    if (kind.resource === 'customresourcedefinitions')
      this.#dropAll(
        (each) =>
          !this.#kinds.some((known) => known.kind === each.kind && groupOf(each.apiVersion).group === known.group),
      )
    if (propagation !== 'Orphan')
      this.#dropAll((each) => each.metadata.ownerReferences?.some(({ uid }) => uid === object.metadata.uid) === true)
    return object
  }

  /** What happened after a version. */
  since(version: number): readonly WatchEvent[] {
    return this.#history.filter((event) => event.version > version)
  }

  onEvent(listener: (event: WatchEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  mustGet(kind: ResourceKind, namespace: string | undefined, name: string): KubeObject {
    const found = this.get(kind, namespace, name)
    if (found === undefined) throw notFound(`${kind.resource}${kind.group === '' ? '' : `.${kind.group}`}`, name)
    return found
  }

  #dropAll(isMeant: (object: KubeObject) => boolean): void {
    for (const object of [...this.#objects.values()].filter(isMeant)) {
      const { group } = groupOf(object.apiVersion)
      const kind = this.#kinds.find((each) => each.kind === object.kind && each.group === group)
      if (kind === undefined)
        [...this.#objects].filter(([, each]) => each === object).forEach(([key]) => this.#objects.delete(key))
      else if (this.get(kind, object.metadata.namespace, object.metadata.name) === object)
        this.remove(kind, object, 'Background')
    }
  }

  #drop(kind: ResourceKind, object: KubeObject): void {
    this.#objects.delete(keyOf(kind, object.metadata.namespace, object.metadata.name))
    this.#learn(kind)
    this.#tell('DELETED', kind, {
      ...object,
      metadata: { ...object.metadata, resourceVersion: String(++this.#version) },
    })
  }

  #keep(type: 'ADDED' | 'MODIFIED', kind: ResourceKind, object: KubeObject): void {
    this.#objects.set(keyOf(kind, object.metadata.namespace, object.metadata.name), object)
    this.#learn(kind)
    this.#tell(type, kind, object)
  }

  #learn(kind: ResourceKind): void {
    if (kind.resource === 'customresourcedefinitions') this.#kinds = kindsWith(this.list(kind, undefined))
  }

  #tell(type: WatchEvent['type'], kind: ResourceKind, object: KubeObject): void {
    const event = { type, kind, object, version: this.#version }
    this.#history.push(event)
    for (const listener of this.#listeners) listener(event)
  }
}

/** All versions of a kind are one set of objects. */
const keyOf = ({ group, resource }: ResourceKind, namespace: string | undefined, name: string): string =>
  `${group}/${resource}/${namespace ?? ''}/${name}`

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)
