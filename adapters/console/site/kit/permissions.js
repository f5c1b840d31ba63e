import { useEffect, useState } from 'preact/hooks'
import { call, refusals, rightsPath } from './client.js'
import { useValue } from './html.js'

/** @typedef {{ objectType: string, objectID: number }} ObjectKey */

/** How long an answer is used, in milliseconds. Rights may be withdrawn while a screen is open. */
const keptMs = 20_000

/** @type {Map<string, { at: number, relations: Promise<ReadonlySet<string>> }>} */
const known = new Map()

/** @type {Map<string, { objects: ObjectKey[], resolve: ((relations: ReadonlySet<string>) => void)[] }>} */
const waiting = new Map()

// A right may have been withdrawn while a screen is open.
refusals.subscribe(() => known.clear())

/** Asks for all objects that were asked about in the present turn by one request for each account. */
const flush = async () => {
  const batches = [...waiting]
  waiting.clear()
  for (const [org, { objects, resolve }] of batches) {
    try {
      const { data } = await call('post', rightsPath, { query: { org }, body: objects })
      data.forEach(({ allowedPermissions }, at) => resolve[at]?.(new Set(allowedPermissions)))
    } catch {
      for (const each of resolve) each(new Set())
    }
  }
}

/**
 * Returns the relations of the caller to an object.
 *
 * @param {string} org the name of the account
 * @param {ObjectKey} object
 * @returns {Promise<ReadonlySet<string>>}
 */
export const relationsOn = (org, object) => {
  const key = `${org}/${object.objectType}/${object.objectID}`
  const kept = known.get(key)
  if (kept !== undefined && Date.now() - kept.at < keptMs) return kept.relations
  /** @type {Promise<ReadonlySet<string>>} */
  const relations = new Promise((resolve) => {
    if (waiting.size === 0) queueMicrotask(() => void flush())
    const batch = waiting.get(org) ?? { objects: [], resolve: [] }
    batch.objects.push(object)
    batch.resolve.push(resolve)
    waiting.set(org, batch)
  })
  known.set(key, { at: Date.now(), relations })
  return relations
}

/**
 * Returns the relations of the caller to objects of an account, by `type/id`; undefined while they are read.
 *
 * @param {string} org the name of the account
 * @param {ObjectKey[]} objects at most 500
 * @returns {ReadonlyMap<string, ReadonlySet<string>> | undefined}
 */
const useRights = (org, objects) => {
  const key = `${org} ${objects.map(({ objectType, objectID }) => `${objectType}/${objectID}`).join(' ')}`
  const [state, setState] = useState(
    /** @type {{ key: string, rights: ReadonlyMap<string, ReadonlySet<string>> } | undefined} */ (undefined),
  )
  const round = useValue(refusals)
  useEffect(() => {
    let isCurrent = true
    void Promise.all(objects.map((object) => relationsOn(org, object))).then((found) => {
      if (!isCurrent) return
      const rights = new Map(
        objects.map(({ objectType, objectID }, at) => [`${objectType}/${objectID}`, found[at] ?? new Set()]),
      )
      setState({ key, rights })
    })
    return () => void (isCurrent = false)
  }, [key, round])
  return state?.key === key ? state.rights : undefined
}

/**
 * Returns the relations of the caller to one object; undefined while they are read.
 *
 * @param {string} org
 * @param {string} objectType
 * @param {number | undefined} objectID
 */
export const useRightsOn = (org, objectType, objectID) => {
  const rights = useRights(org, objectID === undefined ? [] : [{ objectType, objectID }])
  return objectID === undefined ? undefined : rights?.get(`${objectType}/${objectID}`)
}
