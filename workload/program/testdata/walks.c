/* Functions with frames of each kind, for the test that compares walks: a leaf, a computed size,
   an aligned frame whose arguments are above it, calls that do not return, recursion. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <alloca.h>
__attribute__((noinline)) int leaf(int a){ return a*3+1; }
__attribute__((noinline)) int dyn(int n){ volatile char b[n+1]; b[n]=n; return leaf(n)+b[n]; }
__attribute__((noinline)) long big(long a,long b,long c,long d,long e,long f,long g,long h){ volatile char buf[5000]; buf[a&4095]=b; return buf[c&4095]+d+e+f+g+h+dyn(a); }
__attribute__((noinline)) int line(const char*s){ char b[100]; int n=snprintf(b,sizeof b,"%s %d\n",s,leaf(1)); if(n<0) abort(); return write(1,b,n); }
__attribute__((noinline,force_align_arg_pointer)) long aligned(long a,long b,long c,long d,long e,long f,long g,long h){ _Alignas(64) volatile char v[64]; volatile char w[a+1]; w[a]=h; v[a&63]=b; line((const char*)v); return v[c&63]+w[a]+d+e+f+g+h+leaf(a); }
__attribute__((noinline,noreturn)) void die(int n){ line("dies"); exit(n); }
__attribute__((noinline)) int early(int n){ if(n==3) return 0; char*p=malloc(n); memset(p,n,n); int r=dyn(n)+line(p)+line(p+1); free(p); if(r==12345) die(r); return r; }
__attribute__((noinline)) int rec(int n){ return n? rec(n-1)+early(n):line("x"); }
__attribute__((noinline)) int sw(int n){ switch(n){case 0:return line("a");case 1:return dyn(3);case 2:return rec(2);case 3:return leaf(n)+1;case 4: return early(5);default:return 0;} }
int main(int c,char**v){ long r=aligned(c,1,2,3,4,5,6,c); usleep(c); return (int)r+ (int)big(1,2,3,c,5,6,7,8)+rec(c)+sw(c); }
