import { makeUpkeep } from '../../core/client-orgs/upkeep.ts'
import { ClientOrgStorePort, ClientOrgUnitOfWorkPort } from '../../core/client-orgs/ports.ts'
import { OwnSpokesPort } from '../../core/clusters/hubs/ports.ts'
import { ClusterConnectionsPort, ClusterStorePort, CredentialSealerPort } from '../../core/clusters/ports.ts'
import { LogPort } from '../../core/kernel/log.ts'
import { makeOwnCall } from '../../core/kernel/principal.ts'
import { EntropyPort } from '../../core/kernel/secret.ts'
import { defineGroup } from '../kit/group.ts'

const id = 'client-orgs.keepAccounts'

/** Renews the accounts of members on clusters, and removes those of former members. */
export const keepAccounts = defineGroup({
  needs: {
    clientOrgs: ClientOrgStorePort,
    clusters: ClusterStorePort,
    connections: ClusterConnectionsPort,
    entropy: EntropyPort,
    log: LogPort,
    seal: CredentialSealerPort,
    spokes: OwnSpokesPort,
    unitOfWork: ClientOrgUnitOfWorkPort,
  },
  jobs: (given) => {
    const ownCall = makeOwnCall(given.entropy)
    const keep = makeUpkeep(given)
    return [
      {
        id,
        summary: 'Remove accounts of former members from clusters, and replace shared accounts of earlier releases',
        everySeconds: 300,
        run: (signal) => keep(ownCall(id, signal)),
      },
    ]
  },
})
