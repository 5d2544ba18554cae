"""The keywords of ssh_config(5): what ssh takes, what asyncssh's reader makes of it, what only ssh can follow.

Checked against OpenSSH 9.2; later keywords are from the manuals. Values are regular expressions.
"""

from __future__ import annotations

import sys

_FLAG, _NUMBER, _SOME = "(?i:yes|no|true|false)", "[0-9]+", "(?!(?i:none)$).+"
_FAMILY, _TIME = "(?i:any|inet6?)", "(?i:none|([0-9]+[smhdw])*[0-9]*)"
# Keywords that asyncssh reads, by the values that it reads as ssh does: its tokens and variables, no `none`, no `~USER`.
READ = {
    _FLAG: """ChallengeResponseAuthentication Compression GSSAPIAuthentication HostbasedAuthentication IdentitiesOnly
        KbdInteractiveAuthentication PasswordAuthentication PubkeyAuthentication TCPKeepAlive""",
    _NUMBER: "ConnectTimeout Port",
    _FAMILY: "AddressFamily",
    _SOME: "BindAddress CASignatureAlgorithms Ciphers HostKeyAlgorithms KexAlgorithms MACs User",
    "(?!(?i:none)$)[^%]+": "HostKeyAlias",
    ".+": "GlobalKnownHostsFile PKCS11Provider PreferredAuthentications",
    "[^%]+": "ProxyJump",
    "[^%$]+": "UserKnownHostsFile",
    "([^%$A-Z]|%[h%])+": "Hostname",
    r"([^%$]|%[hnpr]|\$(?!\{))+": "ProxyCommand",
    r"(?!~[^/])([^%$]|%[dhiLlnpru]|\$\{\w+\}|\$(?!\{))+": "CertificateFile IdentityAgent IdentityFile",
}
# Keywords that only ssh follows, by the values that change nothing.
_OPENSSH_ONLY = {
    "none": "BindInterface IdentityFile2 KnownHostsCommand RevokedHostKeys SmartcardDevice",
    "no|false": "CanonicalizeHostname ProxyUseFdpass",
    "yes|true": "DSAAuthentication SkeyAuthentication TISAuthentication",
    "[+^].+": "PubkeyAcceptedAlgorithms PubkeyAcceptedKeyTypes",
    "1024": "RequiredRSASize",
    "internal": "SecurityKeyProvider",
    _NUMBER: "ServerAliveCountMax ServerAliveInterval",
}
VALUES = {
    name.lower(): values
    for table in (READ, _OPENSSH_ONLY)
    for values, names in table.items()
    for name in names.split()
}
_FLAGS = """\
batchmode checkhostip clearallforwardings enableescapecommandline enablesshkeysign exitonforwardfailure
forkafterauthentication forwardx11 forwardx11trusted gatewayports gssapidelegatecredentials hashknownhosts
nohostauthenticationforlocalhost permitlocalcommand stdinnull streamlocalbindunlink visualhostkey
"""
# Without such a value ssh refuses the file, also in a block for another host.
TAKEN_BY_SSH = {
    **{name: values for name, values in VALUES.items() if values in (_FLAG, _FAMILY)},
    **dict.fromkeys(_FLAGS.split(), _FLAG),
    "connectionattempts": _NUMBER,
    "connecttimeout": _TIME,
    "numberofpasswordprompts": _NUMBER,
    "port": "[1-9][0-9]{0,4}",
    "pubkeyauthentication": f"{_FLAG}|(?i:unbound|host-bound)",
    "serveraliveinterval": _TIME,
    "stricthostkeychecking": f"{_FLAG}|(?i:ask|off|accept-new)",
    "updatehostkeys": f"{_FLAG}|(?i:ask)",
    "verifyhostkeydns": f"{_FLAG}|(?i:ask)",
}
# Keywords of any OpenSSH, also those that it only warns of, that change nothing here. A name in no table is misspelt.
_UNUSED = """\
addkeystoagent afstokenpassing batchmode canonicaldomains canonicalizefallbacklocal canonicalizemaxdots
canonicalizepermittedcnames channeltimeout checkhostip cipher clearallforwardings compressionlevel connectionattempts
controlmaster controlpath controlpersist dynamicforward enableescapecommandline enablesshkeysign escapechar
exitonforwardfailure fallbacktorsh fingerprinthash forkafterauthentication forwardagent forwardx11 forwardx11timeout
forwardx11trusted gatewayports globalknownhostsfile2 gssapiclientidentity gssapidelegatecredentials gssapikexalgorithms
gssapikeyexchange gssapirenewalforcesrekey gssapiserveridentity gssapitrustdns hashknownhosts
hostbasedacceptedalgorithms hostbasedkeytypes ignoreunknown ipqos kbdinteractivedevices keepalive
kerberosauthentication kerberostgtpassing localcommand localforward loglevel logverbose
nohostauthenticationforlocalhost numberofpasswordprompts obscurekeystroketiming permitlocalcommand permitremoteopen
protocol refuseconnection rekeylimit remotecommand remoteforward requesttty rhostsauthentication rhostsrsaauthentication
rsaauthentication sendenv sessiontype setenv stdinnull streamlocalbindmask streamlocalbindunlink stricthostkeychecking
syslogfacility tag tunnel tunneldevice updatehostkeys useblacklistedkeys useprivilegedport userknownhostsfile2
useroaming usersh verifyhostkeydns versionaddendum visualhostkey warnweakcrypto xauthlocation
"""
KNOWN = frozenset({"host", "match", "include", *VALUES, *_UNUSED.split()}) | (
    {"usekeychain"} if sys.platform == "darwin" else frozenset()
)
_SEVERAL = """\
canonicaldomains canonicalizepermittedcnames channeltimeout dynamicforward globalknownhostsfile host include ipqos
localforward logverbose match permitremoteopen rekeylimit remoteforward sendenv setenv userknownhostsfile
"""
SEVERAL = frozenset(_SEVERAL.split())  # keywords that take more than one argument
