import type { AuthorityStore, LicenseStore, StoredAuthority } from '../../../core/contracts/ports.ts'
import type { ContractId, License, LicenseKind } from '../../../core/contracts/types.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import { pageQuery } from '../kit/page-query.ts'
import type { Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'

interface LicenseRow {
  readonly serial: string
  readonly contract_id: number
  readonly owner_id: number
  readonly cluster_uid: string
  readonly kind: string
  readonly authority_id: number
  readonly not_before: number
  readonly not_after: number
  readonly content_key: string
  readonly certificate: string
  readonly issued_at: number
  readonly issued_by: string
  readonly revoked_at: number | null
}

const columns = [
  'serial',
  'contract_id',
  'owner_id',
  'cluster_uid',
  'kind',
  'authority_id',
  'not_before',
  'not_after',
  'content_key',
  'certificate',
  'issued_at',
  'issued_by',
  'revoked_at',
] as const

const licenseOf = (row: LicenseRow): License => ({
  serial: row.serial,
  contractId: row.contract_id as ContractId,
  ownerId: row.owner_id as AccountId,
  clusterUid: row.cluster_uid,
  kind: row.kind as LicenseKind,
  authorityId: row.authority_id,
  notBefore: new Date(row.not_before),
  notAfter: new Date(row.not_after),
  contentKey: row.content_key,
  certificatePem: row.certificate,
  issuedAt: new Date(row.issued_at),
  issuedBy: row.issued_by,
  revokedAt: row.revoked_at === null ? undefined : new Date(row.revoked_at),
})

const licenseStatements = (db: SqlDatabase) => ({
  insert: db.prepare((k, p: Params<(typeof columns)[number]>) =>
    k('licenses').insert(Object.fromEntries(columns.map((column) => [column, p(column)]))),
  ),
  newest: db.prepare((k, p: Params<'contractId' | 'uid' | 'kind'>) =>
    k('licenses')
      .select(...columns)
      .where({ contract_id: p('contractId'), cluster_uid: p('uid'), kind: p('kind') })
      .whereNull('revoked_at')
      .orderBy('id', 'desc')
      .limit(1),
  ),
  list: pageQuery(
    db,
    (k, p: Params<'contractId'>) => k('licenses').where('contract_id', p('contractId')),
    (_, rows, cut) => cut(rows.select(...columns).orderBy('id', 'desc')),
  ),
  revoked: db.prepare((k, p: Params<'authorityId' | 'now' | 'limit'>) =>
    k('licenses')
      .select('serial', 'revoked_at')
      .where('authority_id', p('authorityId'))
      .whereNotNull('revoked_at')
      .where('not_after', '>', p('now'))
      .orderBy('serial')
      .limit(p('limit')),
  ),
  authority: db.prepare((k, p: Params<'serial'>) => k('licenses').where('serial', p('serial')).select('authority_id')),
  revokeOf: db.prepare((k, p: Params<'contractId' | 'at'>) =>
    k('licenses')
      .where('contract_id', p('contractId'))
      .whereNull('revoked_at')
      .update({ revoked_at: p('at') }),
  ),
  revoke: db.prepare((k, p: Params<'contractId' | 'serial' | 'at'>) =>
    k('licenses')
      .where({ contract_id: p('contractId'), serial: p('serial') })
      .whereNull('revoked_at')
      .update({ revoked_at: p('at') }),
  ),
})

/** LicenseStore over the table licenses. */
export const makeSqlLicenseStore = (db: SqlDatabase): ((runner: SqlRunner) => LicenseStore) => {
  const s = licenseStatements(db)
  return (runner) => ({
    async insert(license) {
      await runner.run(s.insert, {
        serial: license.serial,
        contract_id: license.contractId,
        owner_id: license.ownerId,
        cluster_uid: license.clusterUid,
        kind: license.kind,
        authority_id: license.authorityId,
        not_before: license.notBefore.getTime(),
        not_after: license.notAfter.getTime(),
        content_key: license.contentKey,
        certificate: license.certificatePem,
        issued_at: license.issuedAt.getTime(),
        issued_by: license.issuedBy.slice(0, 254),
        revoked_at: license.revokedAt?.getTime() ?? null,
      })
    },
    async findNewest(contractId, clusterUid, kind) {
      const row = await runner.first<LicenseRow>(s.newest, { contractId, uid: clusterUid, kind })
      return row === undefined ? undefined : licenseOf(row)
    },
    async listOf(contractId, page) {
      return mapPage(await s.list<LicenseRow>(runner, { contractId }, page), licenseOf)
    },
    async listRevoked(authorityId, now, limit) {
      const rows = await runner.all<Pick<LicenseRow, 'serial' | 'revoked_at'>>(s.revoked, {
        authorityId,
        now: now.getTime(),
        limit,
      })
      return rows.map((row) => ({
        serial: row.serial,
        revokedAt: row.revoked_at === null ? undefined : new Date(row.revoked_at),
      }))
    },
    async authorityOf(serial) {
      return (await runner.first<Pick<LicenseRow, 'authority_id'>>(s.authority, { serial }))?.authority_id
    },
    async revokeOf(contractId, at) {
      return (await runner.run(s.revokeOf, { contractId, at: at.getTime() })).affected
    },
    async revoke(contractId, serial, at) {
      return (await runner.run(s.revoke, { contractId, serial, at: at.getTime() })).affected > 0
    },
  })
}

interface AuthorityRow {
  readonly id: number
  readonly certificate: string
  readonly ref: string
  readonly sealed_key: Uint8Array | null
  readonly created_at: number
  readonly retired_at: number | null
}

const authorityOf = (row: AuthorityRow): StoredAuthority => ({
  id: row.id,
  certificatePem: row.certificate,
  sealedKey: row.sealed_key === null ? undefined : { ref: row.ref, box: row.sealed_key },
  createdAt: new Date(row.created_at),
  retiredAt: row.retired_at === null ? undefined : new Date(row.retired_at),
})

/** AuthorityStore over the table license_authorities. `add` must run in a transaction. */
export const makeSqlAuthorityStore = (db: SqlDatabase): ((runner: SqlRunner) => AuthorityStore) => {
  const list = db.prepare((k) =>
    k('license_authorities')
      .select('id', 'certificate', 'ref', 'sealed_key', 'created_at', 'retired_at')
      .orderBy('id', 'desc'),
  )
  const retire = db.prepare((k, p: Params<'at'>) =>
    k('license_authorities')
      .whereNull('retired_at')
      .update({ retired_at: p('at') }),
  )
  const insert = db.prepare((k, p: Params<'certificate' | 'ref' | 'key' | 'at'>) =>
    k('license_authorities').insert({
      certificate: p('certificate'),
      ref: p('ref'),
      sealed_key: p('key'),
      created_at: p('at'),
    }),
  )
  return (runner) => ({
    async list() {
      return (await runner.all<AuthorityRow>(list, {})).map(authorityOf)
    },
    async add({ certificatePem, sealedKey }, at) {
      await runner.run(retire, { at: at.getTime() })
      const { insertId } = await runner.run(insert, {
        certificate: certificatePem,
        ref: sealedKey?.ref ?? '',
        key: sealedKey?.box ?? null,
        at: at.getTime(),
      })
      return insertId
    },
  })
}
