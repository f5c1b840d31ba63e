import { randomUUID } from 'node:crypto'
import type { SealedPlace, SecretBox } from '../../../core/kernel/secret.ts'
import type { NotificationInbox, SigningKeyStore } from '../../../core/marketplace/ports.ts'
import { int, pick } from '../kit/columns.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { insertInto } from '../kit/values.ts'
import { marketplaceInbox, marketplaceSigningKeys } from '../tables/marketplace.ts'

/** NotificationInbox over the table marketplace_inbox. */
export const makeSqlNotificationInbox = (db: SqlDatabase): ((runner: SqlRunner) => NotificationInbox) => {
  const answer = pick(marketplaceInbox, 'status', 'message', 'installerRef')
  const find = db.prepare(pick(marketplaceInbox, 'keyHash'), answer, (k, p) =>
    k('marketplace_inbox').where('key_hash', p.keyHash),
  )
  const add = insertInto(db, marketplaceInbox, { omitted: ['id'] })
  const old = db.prepare({ at: marketplaceInbox.answeredAt, limit: int() }, pick(marketplaceInbox, 'id'), (k, p) =>
    k('marketplace_inbox').where('answered_at', '<', p.at).orderBy('id').limit(p.limit),
  )
  const remove = db.prepare(pick(marketplaceInbox, 'id'), (k, p) => k('marketplace_inbox').where('id', p.id).delete())
  return (runner) => ({
    find: (keyHash) => runner.first(find, { keyHash }),
    async add(keyHash, marketplace, { status, message, installerRef }, at) {
      try {
        await runner.run(add, { keyHash, marketplace, status, message, installerRef, answeredAt: at })
        return true
      } catch (error) {
        if (!isUniqueViolation(error)) throw error
        return false
      }
    },
    async removeBefore(at, limit) {
      const rows = await runner.all(old, { at, limit })
      for (const row of rows) await runner.run(remove, row)
      return rows.length
    },
  })
}

const keyPlace = (ref: string): SealedPlace => ({
  table: 'marketplace_signing_keys',
  column: 'sealed_key',
  tenantId: 0,
  rowRef: ref,
})

/** SigningKeyStore over the table marketplace_signing_keys. */
export const makeSqlSigningKeyStore = (db: SqlDatabase, secretBox: SecretBox): SigningKeyStore => {
  const find = db.prepare({}, pick(marketplaceSigningKeys, 'ref', 'sealedKey'), (k) =>
    k('marketplace_signing_keys').where('id', 1),
  )
  const add = insertInto(db, marketplaceSigningKeys, {}, (insert) => insert.onConflict('id').ignore())
  const known = async () => {
    const row = await db.first(find, {})
    return row === undefined ? undefined : secretBox.open(row.sealedKey, keyPlace(row.ref))
  }
  return {
    async obtain(make) {
      const before = await known()
      if (before !== undefined) return before
      const ref = randomUUID()
      await db.run(add, { id: 1, ref, sealedKey: await secretBox.seal(await make(), keyPlace(ref)) })
      const stored = await known()
      if (stored === undefined) throw new Error('A signing key that was just stored does not exist.')
      return stored
    },
  }
}
