/** Why a request may succeed although it names something of the other tenant, and what its answer must look like. */
export interface Harmless {
  readonly why: string
  readonly says: RegExp
}

const nothing = /^\[\]$/
const own = (says: RegExp): Harmless => ({ why: 'a filter over what the caller may see: nothing is found', says })
const nameTaken: Harmless = { why: 'names are one space for all: each caller learns that a name is in use', says: /^\{"Status":"USER_EXISTS"/ }
const ignored: Harmless = { why: 'the key has no meaning in this deployment and no effect', says: /"ownerName":"north"|"alreadyImported":true/ }
const noPermissions: Harmless = { why: 'an object that is not of this organization: no permissions', says: /"allowedPermissions":\[\]\}\]?$/ }

const unknownCluster: Harmless = { why: 'a cluster that the account does not have', says: /"isImported":false,"name":"",/ }
const unknownContract: Harmless = { why: 'the answer is that the account has no such contract', says: /"error":"[^"]/ }
const ownContracts: Harmless = { why: 'the own contracts for a UID, none or those to which the caller has bound it', says: /^\[(\]$|\{"id":1,.*"orgOrUser":"north")/ }
const ownLicenses = 'a UID is no secret: a license of the own contract for it opens nothing of the other tenant'

/** Requests of north's people that may succeed although they name something of south. */
export const harmless: Readonly<Record<string, Harmless>> = {
  'identity.getCaller [query check_client_org]': { why: 'the answer is about the caller', says: /"login":"north-/ },
  'identity.searchUsers [query q]': own(/"data":\[\]\}$/),
  'identity.searchUsers [query uid]': own(/"data":\[\]\}$/),
  'identity.searchUsers [query q, query uid]': own(/"data":\[\]\}$/),
  'identity.validateUsername [query user_name]': nameTaken,
  'identity.validateOrgname [query org]': nameTaken,
  'identity.validateOrgname [query user_name]': nameTaken,
  'identity.validateOrgname [query org, query user_name]': nameTaken,
  'identity.validateEmail [query email]': nameTaken,
  'identity.deleteSettingsTokens [body tokenIDs]': { why: 'only own tokens are deleted: none', says: /Deleted 0/ },
  'organizations.searchTeams [query q]': own(/"data":\[\]\}$/),
  'organizations.actOnTeam [action remove, query uname]': { why: 'the name counts for add only; uid is of the own tenant', says: /^$/ },
  'authz.getAllowedPermissions [path objID]': noPermissions,
  'authz.listAllowedPermissions [body cluster id]': noPermissions,
  'authz.listAllowedPermissions [body team id]': noPermissions,
  'authz.listAllowedPermissions [body organization id]': noPermissions,
  'authz.listAllowedPermissions [body token id]': noPermissions,
  'authz.listAllowedPermissions [body robot id]': noPermissions,
  'authz.listAllowedPermissions [body mixed]': noPermissions,
  'tasks.list [query cluster]': own(nothing),
  'audit.listOrganizationEvents [query actor]': own(nothing),
  'audit.listOwnEvents [query actor]': own(nothing),
  'audit.exportOrganizationEvents [query actor]': own(/^$/),
  'packages.upgradeRelease [body sourceName]': { why: 'the task looks for the repository in the own account, and finds none', says: /^\{"id":"[0-9a-f-]+","subject":"[\w.-]+"\}$/ },
  'clusters.clusterExists [path cluster]': { why: 'there is no such cluster of the own organization', says: /"exist":false/ },
  'clusters.checkCluster [body basicInfo.managerID]': ignored,
  'clusters.checkCluster [body basicInfo.userID]': ignored,
  'clusters.checkCluster [body basicInfo.hubClusterID]': ignored,
  'clusters.validateImport [body basicInfo.managerID]': ignored,
  'clusters.validateImport [body basicInfo.userID]': ignored,
  'clusters.validateImport [body basicInfo.hubClusterID]': ignored,
  'clusters.reconfigureCluster [body basicInfo.userID]': ignored,
  'contracts.listContractsOfCluster [path clusterID]': ownContracts,
  'contracts.listContractsWithoutCluster [path clusterID]': ownContracts,
  'contracts.getClusterStatus [path clusterID]': unknownCluster,
  'contracts.getClusterStatus [path clusterID, query contract]': unknownCluster,
  'contracts.getClusterStatus [query contract]': unknownContract,
  'contracts.listClusterStatuses [query contract]': unknownContract,
  'contracts.listClusterStatuses [body clusters]': unknownCluster,
  'contracts.listClusterStatuses [query contract, body clusters]': unknownCluster,
  'contracts.assignCluster [body clusterId]': { why: ownLicenses, says: /^$/ },
  'contracts.makeProxyValues [body clusterID]': { why: ownLicenses, says: /^\{"encodedLicenses":\{"database-1":"[^"]+"\}\}$/ },
  'contracts.issueForMachine [body cluster]': { why: ownLicenses, says: /^\{"contract":\{"id":"1",/ },
  'usage.reportEvents [body clusterUID]': { why: 'a cluster that an own contract is bound to: two accounts with one UID count separately', says: /^\{"results":\[\{"id":"1","result":"(accepted|repeated)"\}\]\}$/ },
}

const siteAdmin = 'for site admins'
const isPrivate = 'the member is private, and what is asked is no matter of the organization'
const gone = 'a request before this one did the same'
const notSelf = 'only oneself can join and leave'
const noHelm = 'the service of this test has no helm'
const noSuchRelease = 'the cluster has no release that an editor made'
const nothingThere = 'nothing may be requested from the address of the repository'

const contractAdministration = [
  'listAllContracts', 'createContracts', 'getAnyContract', 'updateContract', 'deleteContract', 'extendContract', 'revokeContract', 'listAnyContractAudit', 'listAnyContractTerms',
  'listAnyContractClusters', 'bindAnyClusters', 'listAnyUnboundClusters', 'getAnyClusterStatus', 'listAnyClusterStatuses', 'unbindAnyCluster', 'renameAnyCluster',
  'retagAnyCluster', 'linkAnyDocument', 'uploadDocument', 'removeDocument', 'issueAnyLicense', 'listAnyLicenses', 'revokeLicense', 'listProducts',
]

const usageSummaries = [
  'listGeneratedMonths', 'getObjectHistory', 'getDatabaseObjects', 'getDatabaseClusters', 'getDatabaseNamespaces', 'getDatabaseKinds', 'getDatabaseContracts', 'getDatabaseQuotas', 'getDatabaseModes',
  'getBackupClusters', 'getBackupContracts', 'getVaultClusters', 'getVaultContracts', 'getIngressClusters', 'getIngressContracts', 'getDatabaseQuotasOfObject', 'getDatabaseModesOfObject', 'downloadReport', 'listIntake', 'listRefusedEvents', 'getRunningMonth', 'closeMonth', 'reopenMonth', 'listCustomers',
]

/** Requests about the own tenant alone that its owner is refused, and why. */
export const refusedToOwner: Readonly<Record<string, string>> = {
  'tasks.cancel []': 'the task has ended',
  ...Object.fromEntries(usageSummaries.map((route) => [`usage.${route} []`, siteAdmin])),
  'usage.recordOutage []': siteAdmin,
  'usage.getOutageReport []': siteAdmin,
  'usage.getBusCredentials []': 'the service of this test has no NATS',
  'identity.checkFollowing []': 'users cannot follow themselves',
  'identity.checkOwnFollowing []': isPrivate,
  'identity.followUser []': isPrivate,
  'identity.unfollowUser []': isPrivate,
  'identity.adminListUsers []': siteAdmin,
  'identity.adminEditUser []': siteAdmin,
  'identity.adminChangePassword []': siteAdmin,
  'identity.adminDeleteUser []': siteAdmin,
  'identity.adminUnlockUser []': siteAdmin,
  'identity.endUserSessions []': siteAdmin,
  'identity.adminGetUser []': siteAdmin,
  'identity.adminUpdateProfile []': siteAdmin,
  'identity.adminRenameUser []': siteAdmin,
  'identity.adminListEmails []': siteAdmin,
  'identity.adminSearchEmails []': siteAdmin,
  'identity.consoleListUsers []': siteAdmin,
  'identity.consoleCreateUser []': siteAdmin,
  'identity.consoleEditUser []': siteAdmin,
  'identity.consoleDeleteUser []': siteAdmin,
  'identity.consoleListDeleted []': siteAdmin,
  'identity.consoleReactivate []': siteAdmin,
  'identity.consolePurge []': siteAdmin,
  'identity.consoleTestMail []': siteAdmin,
  'identity.setRegistration []': siteAdmin,
  'identity.allowDomain []': siteAdmin,
  'identity.disallowDomain []': siteAdmin,
  'platform.changeBranding []': siteAdmin,
  'platform.getSiteSummary []': siteAdmin,
  'platform.getSiteConfig []': siteAdmin,
  'organizations.adminListOrganizations []': siteAdmin,
  'organizations.adminListOrganizationsOfUser []': siteAdmin,
  'organizations.adminCreateOrganization []': siteAdmin,
  'organizations.consoleListOrganizations []': siteAdmin,
  'organizations.consoleListOrphaned []': siteAdmin,
  'organizations.consoleDeleteOrphaned []': siteAdmin,
  'clusters.consoleListClusters []': siteAdmin,
  'identity.signUp []': 'sign-up is closed',
  'identity.adminResetSecondFactor []': siteAdmin,
  'audit.listEvents []': siteAdmin,
  'audit.exportEvents []': siteAdmin,
  'organizations.checkPublicMember []': 'the membership is not shown',
  'organizations.actOnTeam [action join]': notSelf,
  'organizations.actOnTeam [action leave]': notSelf,
  'organizations.actOnTeam [action add]': 'the member is in the team already',
  'organizations.actOnMember [action leave]': notSelf,
  'organizations.actOnMember [action remove]': gone,
  'organizations.removeTeamMember []': gone,
  'organizations.removeMember []': gone,
  'organizations.concealMember []': gone,
  'organizations.revokeToken []': 'the token is not confined to the organization',
  'identity.deleteToken []': gone,
  'identity.removeAccountEmail []': 'a request before this one made it the primary one',
  'organizations.deleteOrganization []': 'the organization has a contract',
  'organizations.acceptInvitation []': 'the owner is a member already',
  'packages.installRelease []': 'there is a release of that name',
  'packages.rollbackRelease []': 'the release has one revision',
  'packages.uninstallRelease []': 'a request before this one removed the cluster',
  'packages.getBundleView []': nothingThere,
  'packages.orderBundle []': nothingThere,
  'packages.getPackageView []': nothingThere,
  'packages.listPackageFiles []': nothingThere,
  'packages.getPackageFile []': nothingThere,
  'packages.orderPackage []': nothingThere,
  'packages.getPackageValues []': nothingThere,
  'packages.makeOptionsModel []': noHelm,
  'packages.renderOptionsManifest []': noHelm,
  'packages.renderOptionsResources []': noHelm,
  'packages.applyEditor []': noHelm,
  'packages.deleteEditor []': noSuchRelease,
  'packages.loadEditorModel []': noSuchRelease,
  'packages.loadEditorManifest []': noSuchRelease,
  'packages.loadEditorResources []': noSuchRelease,
  'chart-repositories.listNamedCharts []': nothingThere,
  'chart-repositories.listNamedVersions []': nothingThere,
  'chart-repositories.listKnownCharts []': nothingThere,
  'chart-repositories.listKnownVersions []': nothingThere,
  'clusters.importCluster []': 'the cluster is imported already',
  ...Object.fromEntries(contractAdministration.map((name) => [`contracts.${name} []`, siteAdmin])),
  'identity.getExtIdpToken []': 'the service of this test has no key for it',
  'clouds.listBuckets []': 'the cluster has no such secret',
  'clusters.deleteCluster []': 'the cluster was removed before',
  'clusters.proxy DELETE []': 'the cluster was removed before',
}
