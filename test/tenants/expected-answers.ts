const nameTaken = 'names are one space for all: that one is taken is told to whoever wants it'
const ignored = 'the key has no meaning in this deployment and no effect'
const ownList = 'a filter over what the caller may see'

/** Requests that may succeed although they name something of the other tenant, and why that tells and does nothing. */
export const harmless: Readonly<Record<string, string>> = {
  'identity.getCaller [query check_client_org]': 'the answer is about the caller',
  'identity.searchUsers [query q]': ownList,
  'identity.searchUsers [query uid]': ownList,
  'identity.searchUsers [query q, query uid]': ownList,
  'identity.validateUsername [query user_name]': nameTaken,
  'identity.validateOrgname [query org]': nameTaken,
  'identity.validateOrgname [query user_name]': nameTaken,
  'identity.validateOrgname [query org, query user_name]': nameTaken,
  'identity.validateEmail [query email]': nameTaken,
  'identity.deleteSettingsTokens [body tokenIDs]': 'only own tokens are deleted: none',
  'organizations.listOrganizationsOfUser [path username]': 'only organizations that the caller may see: none',
  'organizations.getPermissionsOfUser [path username]': 'what an outsider may do in the own organization: nothing',
  'organizations.searchTeams [query q]': ownList,
  'organizations.actOnTeam [action remove, query uname]': 'the name counts for add only; uid is of the own tenant',
  'authz.getAllowedPermissions [path objID]': 'an object that is not of this organization: no permissions',
  'authz.listAllowedPermissions [body objectID]': 'objects that are not of this organization: no permissions',
  'audit.listOrganizationEvents [query actor]': ownList,
  'clusters.clusterExists [path cluster]': 'there is no such cluster of the own organization',
  'clusters.checkCluster [body basicInfo.managerID]': ignored,
  'clusters.checkCluster [body basicInfo.userID]': ignored,
  'clusters.checkCluster [body basicInfo.hubClusterID]': ignored,
  'clusters.validateImport [body basicInfo.managerID]': ignored,
  'clusters.validateImport [body basicInfo.userID]': ignored,
  'clusters.validateImport [body basicInfo.hubClusterID]': ignored,
  'clusters.reconfigureCluster [body basicInfo.userID]': ignored,
}

const siteAdmin = 'for site admins'
const isPrivate = 'the member is private, and what is asked is no matter of the organization'
const gone = 'a request before this one did the same'
const notSelf = 'only oneself can join and leave'

/** Requests about the own tenant alone that its owner is refused, and why. */
export const refusedToOwner: Readonly<Record<string, string>> = {
  'identity.checkFollowing []': 'nobody follows oneself',
  'identity.checkOwnFollowing []': isPrivate,
  'identity.followUser []': isPrivate,
  'identity.unfollowUser []': isPrivate,
  'identity.adminListUsers []': siteAdmin,
  'identity.adminEditUser []': siteAdmin,
  'identity.adminChangePassword []': siteAdmin,
  'identity.adminDeleteUser []': siteAdmin,
  'audit.listEvents []': siteAdmin,
  'organizations.checkPublicMember []': 'nobody shows the membership',
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
  'clusters.importCluster []': 'the cluster is imported already',
  'clusters.proxy DELETE []': 'the cluster was removed before',
}
