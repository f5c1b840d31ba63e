import { randomUUID } from 'node:crypto'
import type { SealedPlace, SecretBox } from '../../../core/kernel/secret.ts'
import type { NotificationAnswer, NotificationInbox, SigningKeyStore } from '../../../core/marketplace/ports.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'

interface AnswerRow {
  readonly status: Num
  readonly message: string
  readonly installer_ref: string
}

const answerOf = (row: AnswerRow): NotificationAnswer => ({
  status: Number(row.status) === 403 ? 403 : 200,
  message: row.message,
  installerRef: row.installer_ref,
})

/** NotificationInbox over the table marketplace_inbox. */
export const makeSqlNotificationInbox = (db: SqlDatabase): ((runner: SqlRunner) => NotificationInbox) => {
  const find = db.prepare((k, p: Params<'key'>) =>
    k('marketplace_inbox').where('key_hash', p('key')).select('status', 'message', 'installer_ref'),
  )
  const add = db.prepare((k, p: Params<'key' | 'marketplace' | 'status' | 'message' | 'installer' | 'at'>) =>
    k('marketplace_inbox').insert({
      key_hash: p('key'),
      marketplace: p('marketplace'),
      status: p('status'),
      message: p('message'),
      installer_ref: p('installer'),
      answered_at: p('at'),
    }),
  )
  const old = db.prepare((k, p: Params<'at' | 'limit'>) =>
    k('marketplace_inbox').where('answered_at', '<', p('at')).orderBy('id').limit(p('limit')).select('id'),
  )
  const remove = db.prepare((k, p: Params<'id'>) => k('marketplace_inbox').where('id', p('id')).delete())
  return (runner) => ({
    async find(key) {
      const row = await runner.first<AnswerRow>(find, { key })
      return row === undefined ? undefined : answerOf(row)
    },
    async add(key, marketplace, { status, message, installerRef }, at) {
      await runner.run(add, { key, marketplace, status, message, installer: installerRef, at: at.getTime() })
    },
    async removeBefore(at, limit) {
      const rows = await runner.all<{ readonly id: number }>(old, { at: at.getTime(), limit })
      for (const { id } of rows) await runner.run(remove, { id })
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

interface KeyRow {
  readonly ref: string
  readonly sealed_key: Uint8Array
}

/** SigningKeyStore over the table marketplace_signing_keys. */
export const makeSqlSigningKeyStore = (db: SqlDatabase, secretBox: SecretBox): SigningKeyStore => {
  const find = db.prepare((k) => k('marketplace_signing_keys').where('id', 1).select('ref', 'sealed_key'))
  const add = db.prepare((k, p: Params<'ref' | 'key'>) =>
    k('marketplace_signing_keys')
      .insert({ id: 1, ref: p('ref'), sealed_key: p('key') })
      .onConflict('id')
      .ignore(),
  )
  const known = async () => {
    const row = await db.first<KeyRow>(find, {})
    return row === undefined ? undefined : secretBox.open(row.sealed_key, keyPlace(row.ref))
  }
  return {
    async obtain(make) {
      const before = await known()
      if (before !== undefined) return before
      const ref = randomUUID()
      await db.run(add, { ref, key: await secretBox.seal(await make(), keyPlace(ref)) })
      const stored = await known()
      if (stored === undefined) throw new Error('A signing key that was just stored does not exist.')
      return stored
    },
  }
}
