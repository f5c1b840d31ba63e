import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { OrgId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { OrganizationMissing } from './failures.ts'
import { parseOrganizationName } from './names.ts'
import type { OrganizationStores } from './ports.ts'

type Refusal = Failure<'OrganizationNameRefused' | 'OrganizationNameTaken' | 'OrganizationMissing'>

/** Gives an organization another name; the old one leads to it until somebody takes it. */
export const makeRenameOrganization =
  (deps: { readonly uow: UnitOfWork<OrganizationStores> }) =>
  async (call: SignedInCall, id: OrgId, newName: string): Outcome<Refusal, void> => {
    const name = parseOrganizationName(newName)
    if (isLeft(name)) return name
    return deps.uow.run<Refusal, void>(call, async ({ organizations, audit }) => {
      const organization = (await organizations.lock(id)) ? await organizations.findById(id) : undefined
      if (organization === undefined) return left(OrganizationMissing('There is no such organization.'))
      if (organization.name === name.right) return right(undefined)
      const renamed = await organizations.rename(id, organization.name, name.right)
      if (isLeft(renamed)) return renamed
      await audit.record({
        action: 'organization.renamed',
        objectType: 'organization',
        objectId: id,
        objectName: name.right,
        tenantId: id,
        changes: { from: organization.name, to: name.right },
      })
      return right(undefined)
    })
  }
