; ModuleID = "gemm_float32_1x2_direct_direct_columns"
target triple = "unknown-unknown-unknown"
target datalayout = ""

define void @"gemm_float32_1x2_direct_direct_columns"(ptr %"descriptor", ptr %"frame")
{
entry:
  %v34 = alloca i8, i32 192, align 64
  br label %"body"
body:
  %v1 = getelementptr i64, ptr %"frame", i64 16
  %v2 = load i64, ptr %v1, align 8
  %v3 = getelementptr i64, ptr %"frame", i64 17
  %v4 = load i64, ptr %v3, align 8
  %v5 = getelementptr i64, ptr %"frame", i64 18
  %v6 = load i64, ptr %v5, align 8
  %v7 = getelementptr i64, ptr %"frame", i64 19
  %v8 = load i64, ptr %v7, align 8
  %v9 = getelementptr i64, ptr %"frame", i64 25
  %v10 = load i64, ptr %v9, align 8
  %v11 = icmp ne i64 %v10, 0
  %v12 = getelementptr i64, ptr %"frame", i64 2
  %v13 = load ptr, ptr %v12, align 8
  %v14 = getelementptr i64, ptr %"frame", i64 9
  %v15 = load i64, ptr %v14, align 8
  %v16 = getelementptr i64, ptr %"descriptor", i64 9
  %v17 = load ptr, ptr %v16, align 8
  %v18 = mul i64 %v15, 8
  %v19 = getelementptr i8, ptr %v17, i64 %v18
  %v20 = getelementptr i64, ptr %"frame", i64 26
  %v21 = load ptr, ptr %v20, align 8
  %v22 = getelementptr i64, ptr %v21, i64 8
  %v23 = load i64, ptr %v22, align 8
  %v24 = getelementptr i64, ptr %"frame", i64 24
  %v25 = load i64, ptr %v24, align 8
  %v26 = icmp ne i64 %v25, 0
  %v27 = icmp eq i64 %v23, 2
  %v28 = xor i1 %v27, -1
  %v29 = and i1 %v26, %v28
  %v30 = getelementptr i64, ptr %v21, i64 9
  %v31 = load i64, ptr %v30, align 8
  %v32 = icmp ne i64 %v31, 0
  %v33 = icmp ne i64 %v23, 0
  %v35 = getelementptr i64, ptr %"descriptor", i64 0
  %v36 = load i64, ptr %v35, align 8
  %v37 = getelementptr i64, ptr %"frame", i64 %v36
  %v38 = load ptr, ptr %v37, align 8
  %v39 = getelementptr i64, ptr %"descriptor", i64 1
  %v40 = load i64, ptr %v39, align 8
  %v41 = getelementptr i64, ptr %"frame", i64 %v40
  %v42 = load ptr, ptr %v41, align 8
  %v43 = getelementptr i64, ptr %"descriptor", i64 3
  %v44 = load i64, ptr %v43, align 8
  %v45 = mul i64 %v44, 3
  %v46 = mul i64 %v44, 5
  %v47 = mul i64 %v44, 8
  %v48 = getelementptr i64, ptr %"descriptor", i64 6
  %v49 = load i64, ptr %v48, align 8
  %v50 = getelementptr i64, ptr %"descriptor", i64 7
  %v51 = load i64, ptr %v50, align 8
  %v52 = mul i64 %v51, 2
  %v53 = mul i64 %v51, 3
  %v54 = mul i64 %v51, 5
  %v55 = udiv i64 %v4, 2
  %v56 = icmp slt i64 0, %v55
  br i1 %v56, label %"loop", label %"done"
loop:
  %v57 = phi i64 [0, %"body"], [%v320, %"done.1.endif"]
  %v58 = mul i64 %v57, %v52
  %v59 = getelementptr i8, ptr %v42, i64 %v58
  %v60 = mul i64 %v57, 2
  %v61 = udiv i64 %v2, 16
  %v62 = icmp slt i64 0, %v61
  br i1 %v62, label %"loop.1", label %"done.1"
done:
  %v322 = mul i64 %v55, 2
  %v323 = mul i64 %v55, %v52
  %v324 = getelementptr i8, ptr %v42, i64 %v323
  %v325 = icmp slt i64 %v322, %v4
  br i1 %v325, label %"loop.7", label %"done.7"
loop.1:
  %v63 = phi i64 [0, %"loop"], [%v197, %"done.3.endif"]
  %v64 = mul i64 %v63, 64
  %v65 = getelementptr i8, ptr %v38, i64 %v64
  %v66 = mul i64 %v63, 16
  %v67 = getelementptr i64, ptr %"descriptor", i64 13
  %v68 = load ptr, ptr %v67, align 8
  %v69 = getelementptr i64, ptr %"frame", i64 8
  %v70 = load i64, ptr %v69, align 8
  %v71 = add i64 %v70, %v66
  %v72 = getelementptr i64, ptr %v68, i64 %v71
  %v73 = load i64, ptr %v72, align 8
  %v74 = and i64 %v6, -4
  %v75 = icmp slt i64 0, %v74
  br i1 %v75, label %"loop.2", label %"done.2"
done.1:
  %v199 = mul i64 %v61, 16
  %v200 = mul i64 %v61, 64
  %v201 = getelementptr i8, ptr %v38, i64 %v200
  %v202 = icmp slt i64 %v199, %v2
  br i1 %v202, label %"done.1.if", label %"done.1.endif"
loop.2:
  %v76 = phi i64 [0, %"loop.1"], [%v136, %"loop.2"]
  %v77 = phi ptr [%v65, %"loop.1"], [%v135, %"loop.2"]
  %v78 = phi ptr [%v59, %"loop.1"], [%v134, %"loop.2"]
  %v79 = phi <16 x float> [splat (float              0x0), %"loop.1"], [%v128, %"loop.2"]
  %v80 = phi <16 x float> [splat (float              0x0), %"loop.1"], [%v133, %"loop.2"]
  %v81 = call ptr asm  "", "=r,0"(ptr %v77)
  %v82 = call ptr asm  "", "=r,0"(ptr %v78)
  %v83 = getelementptr i8, ptr %v81, i64 %v47
  %v84 = call ptr asm  "", "=r,0"(ptr %v83)
  call void @"llvm.prefetch.p0"(ptr %v84, i32 0, i32 3, i32 1)
  %v85 = load <16 x float>, ptr %v81, align 1
  %v86 = load float, ptr %v82, align 1
  %v87 = insertelement <16 x float> poison, float %v86, i32 0
  %v88 = shufflevector <16 x float> %v87, <16 x float> poison, <16 x i32> zeroinitializer
  %v89 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v85, <16 x float> %v88, <16 x float> %v79)
  %v90 = getelementptr [1 x i8], ptr %v82, i64 %v51
  %v91 = load float, ptr %v90, align 1
  %v92 = insertelement <16 x float> poison, float %v91, i32 0
  %v93 = shufflevector <16 x float> %v92, <16 x float> poison, <16 x i32> zeroinitializer
  %v94 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v85, <16 x float> %v93, <16 x float> %v80)
  %v95 = getelementptr i8, ptr %v82, i64 %v49
  %v96 = getelementptr [1 x i8], ptr %v84, i64 %v44
  call void @"llvm.prefetch.p0"(ptr %v96, i32 0, i32 3, i32 1)
  %v97 = getelementptr [1 x i8], ptr %v81, i64 %v44
  %v98 = load <16 x float>, ptr %v97, align 1
  %v99 = load float, ptr %v95, align 1
  %v100 = insertelement <16 x float> poison, float %v99, i32 0
  %v101 = shufflevector <16 x float> %v100, <16 x float> poison, <16 x i32> zeroinitializer
  %v102 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v98, <16 x float> %v101, <16 x float> %v89)
  %v103 = getelementptr [1 x i8], ptr %v95, i64 %v51
  %v104 = load float, ptr %v103, align 1
  %v105 = insertelement <16 x float> poison, float %v104, i32 0
  %v106 = shufflevector <16 x float> %v105, <16 x float> poison, <16 x i32> zeroinitializer
  %v107 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v98, <16 x float> %v106, <16 x float> %v94)
  %v108 = getelementptr i8, ptr %v95, i64 %v49
  %v109 = getelementptr [2 x i8], ptr %v84, i64 %v44
  call void @"llvm.prefetch.p0"(ptr %v109, i32 0, i32 3, i32 1)
  %v110 = getelementptr [2 x i8], ptr %v81, i64 %v44
  %v111 = load <16 x float>, ptr %v110, align 1
  %v112 = load float, ptr %v108, align 1
  %v113 = insertelement <16 x float> poison, float %v112, i32 0
  %v114 = shufflevector <16 x float> %v113, <16 x float> poison, <16 x i32> zeroinitializer
  %v115 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v111, <16 x float> %v114, <16 x float> %v102)
  %v116 = getelementptr [1 x i8], ptr %v108, i64 %v51
  %v117 = load float, ptr %v116, align 1
  %v118 = insertelement <16 x float> poison, float %v117, i32 0
  %v119 = shufflevector <16 x float> %v118, <16 x float> poison, <16 x i32> zeroinitializer
  %v120 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v111, <16 x float> %v119, <16 x float> %v107)
  %v121 = getelementptr i8, ptr %v108, i64 %v49
  %v122 = getelementptr [1 x i8], ptr %v84, i64 %v45
  call void @"llvm.prefetch.p0"(ptr %v122, i32 0, i32 3, i32 1)
  %v123 = getelementptr [1 x i8], ptr %v81, i64 %v45
  %v124 = load <16 x float>, ptr %v123, align 1
  %v125 = load float, ptr %v121, align 1
  %v126 = insertelement <16 x float> poison, float %v125, i32 0
  %v127 = shufflevector <16 x float> %v126, <16 x float> poison, <16 x i32> zeroinitializer
  %v128 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v124, <16 x float> %v127, <16 x float> %v115)
  %v129 = getelementptr [1 x i8], ptr %v121, i64 %v51
  %v130 = load float, ptr %v129, align 1
  %v131 = insertelement <16 x float> poison, float %v130, i32 0
  %v132 = shufflevector <16 x float> %v131, <16 x float> poison, <16 x i32> zeroinitializer
  %v133 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v124, <16 x float> %v132, <16 x float> %v120)
  %v134 = getelementptr i8, ptr %v121, i64 %v49
  %v135 = getelementptr [4 x i8], ptr %v81, i64 %v44
  %v136 = add i64 %v76, 4
  %v137 = icmp slt i64 %v136, %v74
  br i1 %v137, label %"loop.2", label %"done.2"
done.2:
  %v138 = phi ptr [%v65, %"loop.1"], [%v135, %"loop.2"]
  %v139 = phi ptr [%v59, %"loop.1"], [%v134, %"loop.2"]
  %v140 = phi <16 x float> [splat (float              0x0), %"loop.1"], [%v128, %"loop.2"]
  %v141 = phi <16 x float> [splat (float              0x0), %"loop.1"], [%v133, %"loop.2"]
  %v142 = icmp slt i64 %v74, %v6
  br i1 %v142, label %"loop.3", label %"done.3"
loop.3:
  %v143 = phi i64 [%v74, %"done.2"], [%v164, %"loop.3"]
  %v144 = phi ptr [%v138, %"done.2"], [%v163, %"loop.3"]
  %v145 = phi ptr [%v139, %"done.2"], [%v162, %"loop.3"]
  %v146 = phi <16 x float> [%v140, %"done.2"], [%v156, %"loop.3"]
  %v147 = phi <16 x float> [%v141, %"done.2"], [%v161, %"loop.3"]
  %v148 = call ptr asm  "", "=r,0"(ptr %v144)
  %v149 = call ptr asm  "", "=r,0"(ptr %v145)
  %v150 = getelementptr i8, ptr %v148, i64 %v47
  %v151 = call ptr asm  "", "=r,0"(ptr %v150)
  call void @"llvm.prefetch.p0"(ptr %v151, i32 0, i32 3, i32 1)
  %v152 = load <16 x float>, ptr %v148, align 1
  %v153 = load float, ptr %v149, align 1
  %v154 = insertelement <16 x float> poison, float %v153, i32 0
  %v155 = shufflevector <16 x float> %v154, <16 x float> poison, <16 x i32> zeroinitializer
  %v156 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v152, <16 x float> %v155, <16 x float> %v146)
  %v157 = getelementptr [1 x i8], ptr %v149, i64 %v51
  %v158 = load float, ptr %v157, align 1
  %v159 = insertelement <16 x float> poison, float %v158, i32 0
  %v160 = shufflevector <16 x float> %v159, <16 x float> poison, <16 x i32> zeroinitializer
  %v161 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v152, <16 x float> %v160, <16 x float> %v147)
  %v162 = getelementptr i8, ptr %v149, i64 %v49
  %v163 = getelementptr [1 x i8], ptr %v148, i64 %v44
  %v164 = add i64 %v143, 1
  %v165 = icmp slt i64 %v164, %v6
  br i1 %v165, label %"loop.3", label %"done.3"
done.3:
  %v166 = phi ptr [%v138, %"done.2"], [%v163, %"loop.3"]
  %v167 = phi ptr [%v139, %"done.2"], [%v162, %"loop.3"]
  %v168 = phi <16 x float> [%v140, %"done.2"], [%v156, %"loop.3"]
  %v169 = phi <16 x float> [%v141, %"done.2"], [%v161, %"loop.3"]
  %v170 = and i1 %v29, %v33
  %v171 = or i1 %v32, %v170
  br i1 %v171, label %"done.3.if", label %"done.3.else"
done.3.if:
  store <16 x float> %v168, ptr %v34, align 1
  %v172 = getelementptr i8, ptr %v34, i64 64
  store <16 x float> %v169, ptr %v172, align 1
  call void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %v34, i64 %v66, i64 16, i64 %v60, i64 2)
  br label %"done.3.endif"
done.3.else:
  br i1 %v29, label %"done.3.else.if", label %"done.3.else.else"
done.3.endif:
  %v197 = add i64 %v63, 1
  %v198 = icmp slt i64 %v197, %v61
  br i1 %v198, label %"loop.1", label %"done.1"
done.3.else.if:
  %v173 = mul i64 %v60, 8
  %v174 = getelementptr i8, ptr %v19, i64 %v173
  %v175 = getelementptr i64, ptr %v174, i64 0
  %v176 = load i64, ptr %v175, align 8
  %v177 = getelementptr i8, ptr %v13, i64 %v176
  %v178 = getelementptr i8, ptr %v177, i64 %v73
  store <16 x float> %v168, ptr %v178, align 1
  %v179 = getelementptr i64, ptr %v174, i64 1
  %v180 = load i64, ptr %v179, align 8
  %v181 = getelementptr i8, ptr %v13, i64 %v180
  %v182 = getelementptr i8, ptr %v181, i64 %v73
  store <16 x float> %v169, ptr %v182, align 1
  br label %"done.3.else.endif"
done.3.else.else:
  %v183 = mul i64 %v60, 8
  %v184 = getelementptr i8, ptr %v19, i64 %v183
  %v185 = getelementptr i64, ptr %v184, i64 0
  %v186 = load i64, ptr %v185, align 8
  %v187 = getelementptr i8, ptr %v13, i64 %v186
  %v188 = getelementptr i8, ptr %v187, i64 %v73
  %v189 = load <16 x float>, ptr %v188, align 1
  %v190 = fadd <16 x float> %v189, %v168
  store <16 x float> %v190, ptr %v188, align 1
  %v191 = getelementptr i64, ptr %v184, i64 1
  %v192 = load i64, ptr %v191, align 8
  %v193 = getelementptr i8, ptr %v13, i64 %v192
  %v194 = getelementptr i8, ptr %v193, i64 %v73
  %v195 = load <16 x float>, ptr %v194, align 1
  %v196 = fadd <16 x float> %v195, %v169
  store <16 x float> %v196, ptr %v194, align 1
  br label %"done.3.else.endif"
done.3.else.endif:
  br label %"done.3.endif"
done.1.if:
  %v203 = sub i64 %v2, %v199
  %v204 = icmp slt i64 0, %v203
  br i1 %v204, label %"loop.4", label %"done.4"
done.1.endif:
  %v320 = add i64 %v57, 1
  %v321 = icmp slt i64 %v320, %v55
  br i1 %v321, label %"loop", label %"done"
loop.4:
  %v205 = phi i64 [0, %"done.1.if"], [%v318, %"done.6"]
  %v206 = sub i64 %v203, %v205
  %v207 = icmp slt i64 16, %v206
  %v208 = select i1 %v207, i64 16, i64 %v206
  %v209 = mul i64 %v205, 4
  %v210 = getelementptr i8, ptr %v201, i64 %v209
  %v211 = and i64 %v6, -4
  %v212 = icmp slt i64 0, %v211
  br i1 %v212, label %"loop.5", label %"done.5"
done.4:
  call void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %v34, i64 %v199, i64 %v203, i64 %v60, i64 2)
  br label %"done.1.endif"
loop.5:
  %v213 = phi i64 [0, %"loop.4"], [%v277, %"loop.5"]
  %v214 = phi ptr [%v210, %"loop.4"], [%v276, %"loop.5"]
  %v215 = phi ptr [%v59, %"loop.4"], [%v275, %"loop.5"]
  %v216 = phi <16 x float> [splat (float              0x0), %"loop.4"], [%v269, %"loop.5"]
  %v217 = phi <16 x float> [splat (float              0x0), %"loop.4"], [%v274, %"loop.5"]
  %v218 = call ptr asm  "", "=r,0"(ptr %v214)
  %v219 = call ptr asm  "", "=r,0"(ptr %v215)
  %v220 = getelementptr i8, ptr %v218, i64 %v47
  %v221 = call ptr asm  "", "=r,0"(ptr %v220)
  call void @"llvm.prefetch.p0"(ptr %v221, i32 0, i32 3, i32 1)
  %v222 = trunc i64 %v208 to i32
  %v223 = insertelement <16 x i32> poison, i32 %v222, i32 0
  %v224 = shufflevector <16 x i32> %v223, <16 x i32> poison, <16 x i32> zeroinitializer
  %v225 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v224
  %v226 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v218, i32 1, <16 x i1> %v225, <16 x float> zeroinitializer)
  %v227 = load float, ptr %v219, align 1
  %v228 = insertelement <16 x float> poison, float %v227, i32 0
  %v229 = shufflevector <16 x float> %v228, <16 x float> poison, <16 x i32> zeroinitializer
  %v230 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v226, <16 x float> %v229, <16 x float> %v216)
  %v231 = getelementptr [1 x i8], ptr %v219, i64 %v51
  %v232 = load float, ptr %v231, align 1
  %v233 = insertelement <16 x float> poison, float %v232, i32 0
  %v234 = shufflevector <16 x float> %v233, <16 x float> poison, <16 x i32> zeroinitializer
  %v235 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v226, <16 x float> %v234, <16 x float> %v217)
  %v236 = getelementptr i8, ptr %v219, i64 %v49
  %v237 = getelementptr [1 x i8], ptr %v221, i64 %v44
  call void @"llvm.prefetch.p0"(ptr %v237, i32 0, i32 3, i32 1)
  %v238 = getelementptr [1 x i8], ptr %v218, i64 %v44
  %v239 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v238, i32 1, <16 x i1> %v225, <16 x float> zeroinitializer)
  %v240 = load float, ptr %v236, align 1
  %v241 = insertelement <16 x float> poison, float %v240, i32 0
  %v242 = shufflevector <16 x float> %v241, <16 x float> poison, <16 x i32> zeroinitializer
  %v243 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v239, <16 x float> %v242, <16 x float> %v230)
  %v244 = getelementptr [1 x i8], ptr %v236, i64 %v51
  %v245 = load float, ptr %v244, align 1
  %v246 = insertelement <16 x float> poison, float %v245, i32 0
  %v247 = shufflevector <16 x float> %v246, <16 x float> poison, <16 x i32> zeroinitializer
  %v248 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v239, <16 x float> %v247, <16 x float> %v235)
  %v249 = getelementptr i8, ptr %v236, i64 %v49
  %v250 = getelementptr [2 x i8], ptr %v221, i64 %v44
  call void @"llvm.prefetch.p0"(ptr %v250, i32 0, i32 3, i32 1)
  %v251 = getelementptr [2 x i8], ptr %v218, i64 %v44
  %v252 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v251, i32 1, <16 x i1> %v225, <16 x float> zeroinitializer)
  %v253 = load float, ptr %v249, align 1
  %v254 = insertelement <16 x float> poison, float %v253, i32 0
  %v255 = shufflevector <16 x float> %v254, <16 x float> poison, <16 x i32> zeroinitializer
  %v256 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v252, <16 x float> %v255, <16 x float> %v243)
  %v257 = getelementptr [1 x i8], ptr %v249, i64 %v51
  %v258 = load float, ptr %v257, align 1
  %v259 = insertelement <16 x float> poison, float %v258, i32 0
  %v260 = shufflevector <16 x float> %v259, <16 x float> poison, <16 x i32> zeroinitializer
  %v261 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v252, <16 x float> %v260, <16 x float> %v248)
  %v262 = getelementptr i8, ptr %v249, i64 %v49
  %v263 = getelementptr [1 x i8], ptr %v221, i64 %v45
  call void @"llvm.prefetch.p0"(ptr %v263, i32 0, i32 3, i32 1)
  %v264 = getelementptr [1 x i8], ptr %v218, i64 %v45
  %v265 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v264, i32 1, <16 x i1> %v225, <16 x float> zeroinitializer)
  %v266 = load float, ptr %v262, align 1
  %v267 = insertelement <16 x float> poison, float %v266, i32 0
  %v268 = shufflevector <16 x float> %v267, <16 x float> poison, <16 x i32> zeroinitializer
  %v269 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v265, <16 x float> %v268, <16 x float> %v256)
  %v270 = getelementptr [1 x i8], ptr %v262, i64 %v51
  %v271 = load float, ptr %v270, align 1
  %v272 = insertelement <16 x float> poison, float %v271, i32 0
  %v273 = shufflevector <16 x float> %v272, <16 x float> poison, <16 x i32> zeroinitializer
  %v274 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v265, <16 x float> %v273, <16 x float> %v261)
  %v275 = getelementptr i8, ptr %v262, i64 %v49
  %v276 = getelementptr [4 x i8], ptr %v218, i64 %v44
  %v277 = add i64 %v213, 4
  %v278 = icmp slt i64 %v277, %v211
  br i1 %v278, label %"loop.5", label %"done.5"
done.5:
  %v279 = phi ptr [%v210, %"loop.4"], [%v276, %"loop.5"]
  %v280 = phi ptr [%v59, %"loop.4"], [%v275, %"loop.5"]
  %v281 = phi <16 x float> [splat (float              0x0), %"loop.4"], [%v269, %"loop.5"]
  %v282 = phi <16 x float> [splat (float              0x0), %"loop.4"], [%v274, %"loop.5"]
  %v283 = icmp slt i64 %v211, %v6
  br i1 %v283, label %"loop.6", label %"done.6"
loop.6:
  %v284 = phi i64 [%v211, %"done.5"], [%v309, %"loop.6"]
  %v285 = phi ptr [%v279, %"done.5"], [%v308, %"loop.6"]
  %v286 = phi ptr [%v280, %"done.5"], [%v307, %"loop.6"]
  %v287 = phi <16 x float> [%v281, %"done.5"], [%v301, %"loop.6"]
  %v288 = phi <16 x float> [%v282, %"done.5"], [%v306, %"loop.6"]
  %v289 = call ptr asm  "", "=r,0"(ptr %v285)
  %v290 = call ptr asm  "", "=r,0"(ptr %v286)
  %v291 = getelementptr i8, ptr %v289, i64 %v47
  %v292 = call ptr asm  "", "=r,0"(ptr %v291)
  call void @"llvm.prefetch.p0"(ptr %v292, i32 0, i32 3, i32 1)
  %v293 = trunc i64 %v208 to i32
  %v294 = insertelement <16 x i32> poison, i32 %v293, i32 0
  %v295 = shufflevector <16 x i32> %v294, <16 x i32> poison, <16 x i32> zeroinitializer
  %v296 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v295
  %v297 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v289, i32 1, <16 x i1> %v296, <16 x float> zeroinitializer)
  %v298 = load float, ptr %v290, align 1
  %v299 = insertelement <16 x float> poison, float %v298, i32 0
  %v300 = shufflevector <16 x float> %v299, <16 x float> poison, <16 x i32> zeroinitializer
  %v301 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v297, <16 x float> %v300, <16 x float> %v287)
  %v302 = getelementptr [1 x i8], ptr %v290, i64 %v51
  %v303 = load float, ptr %v302, align 1
  %v304 = insertelement <16 x float> poison, float %v303, i32 0
  %v305 = shufflevector <16 x float> %v304, <16 x float> poison, <16 x i32> zeroinitializer
  %v306 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v297, <16 x float> %v305, <16 x float> %v288)
  %v307 = getelementptr i8, ptr %v290, i64 %v49
  %v308 = getelementptr [1 x i8], ptr %v289, i64 %v44
  %v309 = add i64 %v284, 1
  %v310 = icmp slt i64 %v309, %v6
  br i1 %v310, label %"loop.6", label %"done.6"
done.6:
  %v311 = phi ptr [%v279, %"done.5"], [%v308, %"loop.6"]
  %v312 = phi ptr [%v280, %"done.5"], [%v307, %"loop.6"]
  %v313 = phi <16 x float> [%v281, %"done.5"], [%v301, %"loop.6"]
  %v314 = phi <16 x float> [%v282, %"done.5"], [%v306, %"loop.6"]
  %v315 = mul i64 %v205, 4
  %v316 = getelementptr i8, ptr %v34, i64 %v315
  store <16 x float> %v313, ptr %v316, align 1
  %v317 = getelementptr i8, ptr %v316, i64 64
  store <16 x float> %v314, ptr %v317, align 1
  %v318 = add i64 %v205, 16
  %v319 = icmp slt i64 %v318, %v203
  br i1 %v319, label %"loop.4", label %"done.4"
loop.7:
  %v326 = phi i64 [%v322, %"done"], [%v414, %"done.8.endif"]
  %v327 = sub i64 %v4, %v326
  %v328 = icmp slt i64 1, %v327
  %v329 = select i1 %v328, i64 1, i64 %v327
  %v330 = sub i64 %v326, %v322
  %v331 = mul i64 %v330, %v51
  %v332 = getelementptr i8, ptr %v324, i64 %v331
  %v333 = sub i64 %v329, 1
  %v334 = icmp slt i64 0, %v333
  %v335 = select i1 %v334, i64 0, i64 %v333
  %v336 = mul i64 %v335, %v51
  %v337 = udiv i64 %v2, 16
  %v338 = icmp slt i64 0, %v337
  br i1 %v338, label %"loop.8", label %"done.8"
done.7:
  ret void
loop.8:
  %v339 = phi i64 [0, %"loop.7"], [%v376, %"done.9.endif"]
  %v340 = mul i64 %v339, 64
  %v341 = getelementptr i8, ptr %v38, i64 %v340
  %v342 = mul i64 %v339, 16
  %v343 = getelementptr i64, ptr %"descriptor", i64 13
  %v344 = load ptr, ptr %v343, align 8
  %v345 = getelementptr i64, ptr %"frame", i64 8
  %v346 = load i64, ptr %v345, align 8
  %v347 = add i64 %v346, %v342
  %v348 = getelementptr i64, ptr %v344, i64 %v347
  %v349 = load i64, ptr %v348, align 8
  br label %"repeat"
done.8:
  %v378 = mul i64 %v337, 16
  %v379 = mul i64 %v337, 64
  %v380 = getelementptr i8, ptr %v38, i64 %v379
  %v381 = icmp slt i64 %v378, %v2
  br i1 %v381, label %"done.8.if", label %"done.8.endif"
repeat:
  %v350 = phi i64 [0, %"loop.8"], [%v364, %"repeat"]
  %v351 = phi ptr [%v341, %"loop.8"], [%v363, %"repeat"]
  %v352 = phi ptr [%v332, %"loop.8"], [%v362, %"repeat"]
  %v353 = phi <16 x float> [splat (float              0x0), %"loop.8"], [%v361, %"repeat"]
  %v354 = call ptr asm  "", "=r,0"(ptr %v351)
  %v355 = call ptr asm  "", "=r,0"(ptr %v352)
  %v356 = load <16 x float>, ptr %v354, align 1
  %v357 = getelementptr i8, ptr %v355, i64 %v336
  %v358 = load float, ptr %v357, align 1
  %v359 = insertelement <16 x float> poison, float %v358, i32 0
  %v360 = shufflevector <16 x float> %v359, <16 x float> poison, <16 x i32> zeroinitializer
  %v361 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v356, <16 x float> %v360, <16 x float> %v353)
  %v362 = getelementptr i8, ptr %v355, i64 %v49
  %v363 = getelementptr [1 x i8], ptr %v354, i64 %v44
  %v364 = add i64 %v350, 1
  %v365 = icmp slt i64 %v364, %v6
  br i1 %v365, label %"repeat", label %"done.9"
done.9:
  %v366 = and i1 %v29, %v33
  %v367 = or i1 %v32, %v366
  %v368 = xor i1 %v29, -1
  %v369 = or i1 %v367, %v368
  br i1 %v369, label %"done.9.if", label %"done.9.else"
done.9.if:
  store <16 x float> %v361, ptr %v34, align 1
  call void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %v34, i64 %v342, i64 16, i64 %v326, i64 %v329)
  br label %"done.9.endif"
done.9.else:
  %v370 = mul i64 %v326, 8
  %v371 = getelementptr i8, ptr %v19, i64 %v370
  %v372 = getelementptr i64, ptr %v371, i64 0
  %v373 = load i64, ptr %v372, align 8
  %v374 = getelementptr i8, ptr %v13, i64 %v373
  %v375 = getelementptr i8, ptr %v374, i64 %v349
  store <16 x float> %v361, ptr %v375, align 1
  br label %"done.9.endif"
done.9.endif:
  %v376 = add i64 %v339, 1
  %v377 = icmp slt i64 %v376, %v337
  br i1 %v377, label %"loop.8", label %"done.8"
done.8.if:
  %v382 = sub i64 %v2, %v378
  %v383 = icmp slt i64 0, %v382
  br i1 %v383, label %"loop.9", label %"done.10"
done.8.endif:
  %v414 = add i64 %v326, 1
  %v415 = icmp slt i64 %v414, %v4
  br i1 %v415, label %"loop.7", label %"done.7"
loop.9:
  %v384 = phi i64 [0, %"done.8.if"], [%v412, %"done.11"]
  %v385 = sub i64 %v382, %v384
  %v386 = icmp slt i64 16, %v385
  %v387 = select i1 %v386, i64 16, i64 %v385
  %v388 = mul i64 %v384, 4
  %v389 = getelementptr i8, ptr %v380, i64 %v388
  br label %"repeat.1"
done.10:
  call void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %v34, i64 %v378, i64 %v382, i64 %v326, i64 %v329)
  br label %"done.8.endif"
repeat.1:
  %v390 = phi i64 [0, %"loop.9"], [%v408, %"repeat.1"]
  %v391 = phi ptr [%v389, %"loop.9"], [%v407, %"repeat.1"]
  %v392 = phi ptr [%v332, %"loop.9"], [%v406, %"repeat.1"]
  %v393 = phi <16 x float> [splat (float              0x0), %"loop.9"], [%v405, %"repeat.1"]
  %v394 = call ptr asm  "", "=r,0"(ptr %v391)
  %v395 = call ptr asm  "", "=r,0"(ptr %v392)
  %v396 = trunc i64 %v387 to i32
  %v397 = insertelement <16 x i32> poison, i32 %v396, i32 0
  %v398 = shufflevector <16 x i32> %v397, <16 x i32> poison, <16 x i32> zeroinitializer
  %v399 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v398
  %v400 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v394, i32 1, <16 x i1> %v399, <16 x float> zeroinitializer)
  %v401 = getelementptr i8, ptr %v395, i64 %v336
  %v402 = load float, ptr %v401, align 1
  %v403 = insertelement <16 x float> poison, float %v402, i32 0
  %v404 = shufflevector <16 x float> %v403, <16 x float> poison, <16 x i32> zeroinitializer
  %v405 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v400, <16 x float> %v404, <16 x float> %v393)
  %v406 = getelementptr i8, ptr %v395, i64 %v49
  %v407 = getelementptr [1 x i8], ptr %v394, i64 %v44
  %v408 = add i64 %v390, 1
  %v409 = icmp slt i64 %v408, %v6
  br i1 %v409, label %"repeat.1", label %"done.11"
done.11:
  %v410 = mul i64 %v384, 4
  %v411 = getelementptr i8, ptr %v34, i64 %v410
  store <16 x float> %v405, ptr %v411, align 1
  %v412 = add i64 %v384, 16
  %v413 = icmp slt i64 %v412, %v382
  br i1 %v413, label %"loop.9", label %"done.10"
}

define internal void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %".3", i64 %".4", i64 %".5", i64 %".6", i64 %".7")
{
entry:
  br label %"body"
body:
  %v1 = getelementptr i64, ptr %"frame", i64 25
  %v2 = load i64, ptr %v1, align 8
  %v3 = icmp ne i64 %v2, 0
  %v4 = getelementptr i64, ptr %"frame", i64 2
  %v5 = load ptr, ptr %v4, align 8
  %v6 = getelementptr i64, ptr %"frame", i64 9
  %v7 = load i64, ptr %v6, align 8
  %v8 = getelementptr i64, ptr %"descriptor", i64 9
  %v9 = load ptr, ptr %v8, align 8
  %v10 = mul i64 %v7, 8
  %v11 = getelementptr i8, ptr %v9, i64 %v10
  %v12 = getelementptr i64, ptr %"frame", i64 26
  %v13 = load ptr, ptr %v12, align 8
  %v14 = getelementptr i64, ptr %v13, i64 8
  %v15 = load i64, ptr %v14, align 8
  %v16 = getelementptr i64, ptr %"frame", i64 24
  %v17 = load i64, ptr %v16, align 8
  %v18 = icmp ne i64 %v17, 0
  %v19 = icmp eq i64 %v15, 2
  %v20 = xor i1 %v19, -1
  %v21 = and i1 %v18, %v20
  %v22 = getelementptr i64, ptr %v13, i64 9
  %v23 = load i64, ptr %v22, align 8
  %v24 = icmp ne i64 %v23, 0
  %v25 = icmp ne i64 %v15, 0
  %v26 = mul i64 %".6", 8
  %v27 = getelementptr i8, ptr %v11, i64 %v26
  %v28 = and i1 %v21, %v25
  %v29 = or i1 %v24, %v28
  %v30 = xor i1 %v21, -1
  %v31 = or i1 %v30, %v25
  %v32 = getelementptr i64, ptr %"descriptor", i64 13
  %v33 = load ptr, ptr %v32, align 8
  %v34 = getelementptr i64, ptr %"frame", i64 8
  %v35 = load i64, ptr %v34, align 8
  %v36 = add i64 %v35, %".4"
  %v37 = getelementptr i64, ptr %v33, i64 %v36
  %v38 = load i64, ptr %v37, align 8
  %v39 = and i64 %".5", -16
  %v40 = icmp slt i64 0, %v39
  br i1 %v40, label %"loop", label %"done"
loop:
  %v41 = phi i64 [0, %"body"], [%v93, %"loop.endif"]
  %v42 = mul i64 %v41, 4
  %v43 = getelementptr i8, ptr %".3", i64 %v42
  %v44 = mul i64 %v41, 4
  %v45 = add i64 %v38, %v44
  %v46 = getelementptr i8, ptr %v5, i64 %v45
  br i1 %v29, label %"loop.if", label %"loop.else"
done:
  %v95 = sub i64 %".5", %v39
  %v96 = icmp slt i64 0, %v95
  br i1 %v96, label %"done.if", label %"done.endif"
loop.if:
  %v47 = icmp slt i64 0, %".7"
  br i1 %v47, label %"loop.1", label %"done.1"
loop.else:
  br i1 %v21, label %"loop.else.if", label %"loop.else.else"
loop.endif:
  %v93 = add i64 %v41, 16
  %v94 = icmp slt i64 %v93, %v39
  br i1 %v94, label %"loop", label %"done"
loop.1:
  %v48 = phi i64 [0, %"loop.if"], [%v69, %"loop.1.endif.endif"]
  %v49 = mul i64 %v48, 64
  %v50 = getelementptr i8, ptr %v43, i64 %v49
  %v51 = load <16 x float>, ptr %v50, align 1
  %v52 = getelementptr i64, ptr %v27, i64 %v48
  %v53 = load i64, ptr %v52, align 8
  %v54 = getelementptr i8, ptr %v46, i64 %v53
  %v55 = load float, ptr %v13, align 1
  %v56 = insertelement <16 x float> poison, float %v55, i32 0
  %v57 = shufflevector <16 x float> %v56, <16 x float> poison, <16 x i32> zeroinitializer
  %v58 = getelementptr i8, ptr %v13, i64 32
  %v59 = load float, ptr %v58, align 1
  %v60 = insertelement <16 x float> poison, float %v59, i32 0
  %v61 = shufflevector <16 x float> %v60, <16 x float> poison, <16 x i32> zeroinitializer
  br i1 %v24, label %"loop.1.if", label %"loop.1.else"
done.1:
  br label %"loop.endif"
loop.1.if:
  %v62 = fmul <16 x float> %v57, %v51
  br label %"loop.1.endif"
loop.1.else:
  br label %"loop.1.endif"
loop.1.endif:
  %v63 = phi <16 x float> [%v62, %"loop.1.if"], [%v51, %"loop.1.else"]
  br i1 %v31, label %"loop.1.endif.if", label %"loop.1.endif.else"
loop.1.endif.if:
  %v64 = load <16 x float>, ptr %v54, align 1
  br i1 %v21, label %"loop.1.endif.if.if", label %"loop.1.endif.if.else"
loop.1.endif.else:
  br label %"loop.1.endif.endif"
loop.1.endif.endif:
  %v68 = phi <16 x float> [%v67, %"loop.1.endif.if.endif"], [%v63, %"loop.1.endif.else"]
  store <16 x float> %v68, ptr %v54, align 1
  %v69 = add i64 %v48, 1
  %v70 = icmp slt i64 %v69, %".7"
  br i1 %v70, label %"loop.1", label %"done.1"
loop.1.endif.if.if:
  %v65 = fmul <16 x float> %v61, %v64
  br label %"loop.1.endif.if.endif"
loop.1.endif.if.else:
  br label %"loop.1.endif.if.endif"
loop.1.endif.if.endif:
  %v66 = phi <16 x float> [%v65, %"loop.1.endif.if.if"], [%v64, %"loop.1.endif.if.else"]
  %v67 = fadd <16 x float> %v66, %v63
  br label %"loop.1.endif.endif"
loop.else.if:
  %v71 = icmp slt i64 0, %".7"
  br i1 %v71, label %"loop.2", label %"done.2"
loop.else.else:
  %v81 = icmp slt i64 0, %".7"
  br i1 %v81, label %"loop.3", label %"done.3"
loop.else.endif:
  br label %"loop.endif"
loop.2:
  %v72 = phi i64 [0, %"loop.else.if"], [%v79, %"loop.2"]
  %v73 = mul i64 %v72, 64
  %v74 = getelementptr i8, ptr %v43, i64 %v73
  %v75 = load <16 x float>, ptr %v74, align 1
  %v76 = getelementptr i64, ptr %v27, i64 %v72
  %v77 = load i64, ptr %v76, align 8
  %v78 = getelementptr i8, ptr %v46, i64 %v77
  store <16 x float> %v75, ptr %v78, align 1
  %v79 = add i64 %v72, 1
  %v80 = icmp slt i64 %v79, %".7"
  br i1 %v80, label %"loop.2", label %"done.2"
done.2:
  br label %"loop.else.endif"
loop.3:
  %v82 = phi i64 [0, %"loop.else.else"], [%v91, %"loop.3"]
  %v83 = mul i64 %v82, 64
  %v84 = getelementptr i8, ptr %v43, i64 %v83
  %v85 = load <16 x float>, ptr %v84, align 1
  %v86 = getelementptr i64, ptr %v27, i64 %v82
  %v87 = load i64, ptr %v86, align 8
  %v88 = getelementptr i8, ptr %v46, i64 %v87
  %v89 = load <16 x float>, ptr %v88, align 1
  %v90 = fadd <16 x float> %v89, %v85
  store <16 x float> %v90, ptr %v88, align 1
  %v91 = add i64 %v82, 1
  %v92 = icmp slt i64 %v91, %".7"
  br i1 %v92, label %"loop.3", label %"done.3"
done.3:
  br label %"loop.else.endif"
done.if:
  %v97 = mul i64 %v39, 4
  %v98 = getelementptr i8, ptr %".3", i64 %v97
  %v99 = mul i64 %v39, 4
  %v100 = add i64 %v38, %v99
  %v101 = getelementptr i8, ptr %v5, i64 %v100
  br i1 %v29, label %"done.if.if", label %"done.if.else"
done.endif:
  ret void
done.if.if:
  %v102 = icmp slt i64 0, %".7"
  br i1 %v102, label %"loop.4", label %"done.4"
done.if.else:
  br i1 %v21, label %"done.if.else.if", label %"done.if.else.else"
done.if.endif:
  br label %"done.endif"
loop.4:
  %v103 = phi i64 [0, %"done.if.if"], [%v132, %"loop.4.endif.endif"]
  %v104 = mul i64 %v103, 64
  %v105 = getelementptr i8, ptr %v98, i64 %v104
  %v106 = load <16 x float>, ptr %v105, align 1
  %v107 = getelementptr i64, ptr %v27, i64 %v103
  %v108 = load i64, ptr %v107, align 8
  %v109 = getelementptr i8, ptr %v101, i64 %v108
  %v110 = load float, ptr %v13, align 1
  %v111 = insertelement <16 x float> poison, float %v110, i32 0
  %v112 = shufflevector <16 x float> %v111, <16 x float> poison, <16 x i32> zeroinitializer
  %v113 = getelementptr i8, ptr %v13, i64 32
  %v114 = load float, ptr %v113, align 1
  %v115 = insertelement <16 x float> poison, float %v114, i32 0
  %v116 = shufflevector <16 x float> %v115, <16 x float> poison, <16 x i32> zeroinitializer
  br i1 %v24, label %"loop.4.if", label %"loop.4.else"
done.4:
  br label %"done.if.endif"
loop.4.if:
  %v117 = fmul <16 x float> %v112, %v106
  br label %"loop.4.endif"
loop.4.else:
  br label %"loop.4.endif"
loop.4.endif:
  %v118 = phi <16 x float> [%v117, %"loop.4.if"], [%v106, %"loop.4.else"]
  br i1 %v31, label %"loop.4.endif.if", label %"loop.4.endif.else"
loop.4.endif.if:
  %v119 = trunc i64 %v95 to i32
  %v120 = insertelement <16 x i32> poison, i32 %v119, i32 0
  %v121 = shufflevector <16 x i32> %v120, <16 x i32> poison, <16 x i32> zeroinitializer
  %v122 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v121
  %v123 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v109, i32 1, <16 x i1> %v122, <16 x float> zeroinitializer)
  br i1 %v21, label %"loop.4.endif.if.if", label %"loop.4.endif.if.else"
loop.4.endif.else:
  br label %"loop.4.endif.endif"
loop.4.endif.endif:
  %v127 = phi <16 x float> [%v126, %"loop.4.endif.if.endif"], [%v118, %"loop.4.endif.else"]
  %v128 = trunc i64 %v95 to i32
  %v129 = insertelement <16 x i32> poison, i32 %v128, i32 0
  %v130 = shufflevector <16 x i32> %v129, <16 x i32> poison, <16 x i32> zeroinitializer
  %v131 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v130
  call void @"llvm.masked.store.v16f32.p0"(<16 x float> %v127, ptr %v109, i32 1, <16 x i1> %v131)
  %v132 = add i64 %v103, 1
  %v133 = icmp slt i64 %v132, %".7"
  br i1 %v133, label %"loop.4", label %"done.4"
loop.4.endif.if.if:
  %v124 = fmul <16 x float> %v116, %v123
  br label %"loop.4.endif.if.endif"
loop.4.endif.if.else:
  br label %"loop.4.endif.if.endif"
loop.4.endif.if.endif:
  %v125 = phi <16 x float> [%v124, %"loop.4.endif.if.if"], [%v123, %"loop.4.endif.if.else"]
  %v126 = fadd <16 x float> %v125, %v118
  br label %"loop.4.endif.endif"
done.if.else.if:
  %v134 = icmp slt i64 0, %".7"
  br i1 %v134, label %"loop.5", label %"done.5"
done.if.else.else:
  %v148 = icmp slt i64 0, %".7"
  br i1 %v148, label %"loop.6", label %"done.6"
done.if.else.endif:
  br label %"done.if.endif"
loop.5:
  %v135 = phi i64 [0, %"done.if.else.if"], [%v146, %"loop.5"]
  %v136 = mul i64 %v135, 64
  %v137 = getelementptr i8, ptr %v98, i64 %v136
  %v138 = load <16 x float>, ptr %v137, align 1
  %v139 = getelementptr i64, ptr %v27, i64 %v135
  %v140 = load i64, ptr %v139, align 8
  %v141 = getelementptr i8, ptr %v101, i64 %v140
  %v142 = trunc i64 %v95 to i32
  %v143 = insertelement <16 x i32> poison, i32 %v142, i32 0
  %v144 = shufflevector <16 x i32> %v143, <16 x i32> poison, <16 x i32> zeroinitializer
  %v145 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v144
  call void @"llvm.masked.store.v16f32.p0"(<16 x float> %v138, ptr %v141, i32 1, <16 x i1> %v145)
  %v146 = add i64 %v135, 1
  %v147 = icmp slt i64 %v146, %".7"
  br i1 %v147, label %"loop.5", label %"done.5"
done.5:
  br label %"done.if.else.endif"
loop.6:
  %v149 = phi i64 [0, %"done.if.else.else"], [%v162, %"loop.6"]
  %v150 = mul i64 %v149, 64
  %v151 = getelementptr i8, ptr %v98, i64 %v150
  %v152 = load <16 x float>, ptr %v151, align 1
  %v153 = getelementptr i64, ptr %v27, i64 %v149
  %v154 = load i64, ptr %v153, align 8
  %v155 = getelementptr i8, ptr %v101, i64 %v154
  %v156 = trunc i64 %v95 to i32
  %v157 = insertelement <16 x i32> poison, i32 %v156, i32 0
  %v158 = shufflevector <16 x i32> %v157, <16 x i32> poison, <16 x i32> zeroinitializer
  %v159 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v158
  %v160 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v155, i32 1, <16 x i1> %v159, <16 x float> zeroinitializer)
  %v161 = fadd <16 x float> %v160, %v152
  call void @"llvm.masked.store.v16f32.p0"(<16 x float> %v161, ptr %v155, i32 1, <16 x i1> %v159)
  %v162 = add i64 %v149, 1
  %v163 = icmp slt i64 %v162, %".7"
  br i1 %v163, label %"loop.6", label %"done.6"
done.6:
  br label %"done.if.else.endif"
}

declare <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %".1", i32 %".2", <16 x i1> %".3", <16 x float> %".4")

declare void @"llvm.masked.store.v16f32.p0"(<16 x float> %".1", ptr %".2", i32 %".3", <16 x i1> %".4")

declare void @"llvm.prefetch.p0"(ptr %".1", i32 %".2", i32 %".3", i32 %".4")

declare <16 x float> @"llvm.fma.v16f32"(<16 x float> %".1", <16 x float> %".2", <16 x float> %".3")
